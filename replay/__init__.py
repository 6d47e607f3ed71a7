"""Models that make tables: protocols, channels and workloads."""
