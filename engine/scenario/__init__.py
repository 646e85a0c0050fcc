"""Scenarios: reading, checking and resolving them. Runs on the host and needs neither guest nor network."""

from engine.scenario.plan import PlannedCell, plan
from engine.scenario.resolve import SIZES, Cell, expand, resolve
from scenarios.errors import ScenarioError

__all__ = ["SIZES", "Cell", "PlannedCell", "ScenarioError", "expand", "plan", "resolve"]
