"""Many runs over a grid of settings, in a file that survives a kill."""
