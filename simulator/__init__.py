"""Everything about speculative decoding that is true without a screen; never imports Qt."""
