"""What several input formats share: sources, lines of text, captured packets, RLC frames, TCP state."""
