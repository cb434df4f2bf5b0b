"""Tables by source: a route for every pair of nodes of a torus or mesh."""
