"""What documents say of senders, and whether packets show it: RFC 6817, LEDBAT++ and BEP 29."""
