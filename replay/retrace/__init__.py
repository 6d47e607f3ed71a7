"""Retrace: the throughput that a link would have had at every frame size, given which blocks it lost."""
