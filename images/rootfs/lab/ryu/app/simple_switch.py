# SPDX-License-Identifier: MIT
"""The same switch under the name that it had for OpenFlow 1.0; Open vSwitch speaks 1.3 with it."""

from ryu.app.simple_switch_13 import SimpleSwitch13


class SimpleSwitch(SimpleSwitch13):  # type: ignore[misc]
    """A switch that learns addresses."""
