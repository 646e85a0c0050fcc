"""Whether an implementation keeps its contract; see docs/reference/implementations.md."""
