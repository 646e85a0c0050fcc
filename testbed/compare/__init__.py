"""Implementations side by side in the same scenarios; see docs/howto/compare.md."""

ON_SITE = {"compare": ("Comparison", "Implementations beside each other, in the same scenarios")}
