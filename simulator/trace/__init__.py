"""Traces: rounds in memory as columns, and runs in a file and back."""
