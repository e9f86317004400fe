"""Plots of SpecScope: bars of one position, its residual, and curves over the draft length."""
