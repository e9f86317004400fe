"""The pages, one file each; a page shows what the session tells it."""
