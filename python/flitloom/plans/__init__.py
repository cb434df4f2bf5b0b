"""Plans of packets as values: what they say, what of it is computed anew, and what they are for."""
