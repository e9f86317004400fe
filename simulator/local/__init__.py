"""The models on this computer, from folder to checked weights, and how others are fetched."""
