"""The topologies that scenarios name: one module each, named like the topology (`two-path` is `two_path.py`).

A module has `FIELDS`, the fields of a scenario that not every topology has, and `describe(scenario)`. Where it is not
`pairs` of hosts that a scenario counts, `COUNTED` names what is counted.
"""
