"""Models of channels that lose blocks, and how they are fitted to a trace."""
