"""What products share: scenarios with a place for a client, what is measured of it, how it is told and drawn."""
