"""Statements and how they are judged: their file, the five verdicts, four policies, and the statistics behind them."""
