"""Draft sources behind one protocol: `propose(context, uniforms)`, `commit(context)`, `reset()`."""
