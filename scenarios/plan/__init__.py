"""Plans a run: what follows from a resolved scenario, such as buffers, host settings and the time around it."""
