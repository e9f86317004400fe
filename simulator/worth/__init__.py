"""Whether drafting pays on a text: flatness of the target, and each source along it."""
