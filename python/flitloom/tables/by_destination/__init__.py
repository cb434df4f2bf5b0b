"""Tables by destination: a port at every switch of a fabric, a lane by the service level of a packet."""
