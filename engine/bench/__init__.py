"""`make bench`: how fast guests and the capture reader are on this machine, measured in one go.

Absolute seconds differ between machines and between a busy and an idle one; the ratios are what may be quoted.
"""
