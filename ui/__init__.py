"""The window. It shows what `simulator` computed and never decides anything about probabilities."""
