"""Budgets that an implementation must stay within, and its versions; see docs/howto/gate.md."""

ON_SITE = {
    "gate": ("Gate", "Whether it stays within its budgets"),
    "versions": ("Versions", "What a gate measures, over the versions of an implementation"),
}
