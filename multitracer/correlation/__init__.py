"""How packets that a link carried are recognised among the segments that were captured."""
