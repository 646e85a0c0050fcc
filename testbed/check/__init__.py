"""Whether an implementation keeps its contract; see docs/implementations.md."""
