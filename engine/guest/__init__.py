"""What runs inside a guest: one agent that builds the topology, runs the flows and events, captures and audits.

Runs on the guest's own Python with nothing but the standard library and Mininet.
"""
