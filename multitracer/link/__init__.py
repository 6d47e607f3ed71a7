"""What a link's log says by itself: numbers, events, timing, totals, and the packets put together."""
