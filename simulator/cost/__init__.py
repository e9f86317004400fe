"""What passes and rounds cost on this machine, and why the formula missed the measurement."""
