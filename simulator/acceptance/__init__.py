"""Acceptance figures from runs, files and pasted counters, and theory beyond independence."""
