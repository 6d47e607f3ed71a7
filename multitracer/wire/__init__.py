"""Headers and frames as they are on the wire, each protocol with its clauses."""
