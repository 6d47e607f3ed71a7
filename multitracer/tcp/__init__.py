"""TCP from its own packets and state logs: connections, counts, round trips, retransmissions and their causes."""
