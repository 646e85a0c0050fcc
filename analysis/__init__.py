"""What comes out: captures to columns, columns to metrics, metrics to verdicts, figures and the report.

This package works on run folders alone; it imports no other package of the project.
"""
