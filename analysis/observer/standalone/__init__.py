"""Captures that come from anywhere, without a run: which flows they hold, where they were taken, and what they tell."""
