"""What runs in a guest: an agent builds the network, runs flows and events, captures packets and audits the run.

It needs the guest's own Python, the standard library and Mininet, and nothing else.
"""
