"""Implementations side by side in the same scenarios; see docs/compare.md."""
