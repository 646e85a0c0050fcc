"""Implementations side by side in the same scenarios; see docs/howto/compare.md."""
