"""Networks with routers at their nodes, and what runs on pipelined routers."""
