"""Mininet topologies and shaped links. Knows Mininet and nothing of LEDBAT."""
