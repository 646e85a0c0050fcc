"""What an environment that was installed before `testbed.cli` calls."""

from importlib import import_module

main = import_module("testbed.cli").main
