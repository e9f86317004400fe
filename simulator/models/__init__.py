"""Language models behind one protocol: `extend(tokens) -> logits`, `rollback(n)`, `reset()`."""
