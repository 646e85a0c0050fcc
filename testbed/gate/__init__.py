"""Budgets that an implementation must stay within, and its versions; see docs/howto/gate.md."""
