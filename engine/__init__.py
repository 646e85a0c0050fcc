"""How one run executes: the host side here, the agent inside the guest in `engine.guest`."""
