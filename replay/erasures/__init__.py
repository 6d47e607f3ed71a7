"""Block-erasure traces: which blocks of a radio link were lost, and what a trace shows."""
