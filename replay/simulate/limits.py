"""What the models take at most and at least, for the ranges of keys, as plain numbers.

The modules of the models take long to load, and what only lists scenarios needs none of them; a test compares the two.
"""

from __future__ import annotations

LONGEST_AIR_S, MOST_PER_SLOT, LONGEST_QUEUE = 1e4, 1000, 1 << 20
"""Of the engine: a delay or an opportunity, and RLP's timers; frames in an opportunity; frames in a device's queue."""
WIRED_ROOM, QUEUE_ROOM = 1 << 14, 1 << 12
"""Packets on the wired hop and in its queue; SDUs that raw, sr and asr keep waiting."""
LARGEST_HEADER, SMALLEST_SR_HEADER, LARGEST_SR_WINDOW, LONGEST_SR_S = 64, 4, 128, 3600
LARGEST_ASR_WEIGHT, SHORTEST_ASR_TICK_S, LONGEST_ASR_TICK_S = 16, 0.001, 1
SMALLEST_RLP_FRAME, SMALLEST_UM_PDU = 7, 8
SMALLEST_PDU, LARGEST_PDU, LARGEST_RLC_WINDOW, MOST_POLL_SDU, LONGEST_RLC_S = 16, 4000, 2047, 64, 1000
MOST_SEGMENTS, MOST_SACK_BLOCKS, LONGEST_RTO_S, SHORTEST_RTO_S = 1 << 14, 4, 86_400, 1e-3
LONGEST_TICK_S, SHORTEST_TICK_S, SHORTEST_NS2_TICK_S = 10, 1e-6, 1e-3
