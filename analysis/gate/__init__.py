"""Budgets: bounds on what runs of an implementation show, for continuous integration."""
