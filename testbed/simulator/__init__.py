"""Cells of the papers in ns-2, their own simulator, beside what they print and what a kernel does."""
