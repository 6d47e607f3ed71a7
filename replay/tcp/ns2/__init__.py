"""TCP as the simulator ns-2.35 has it: one-way senders (Reno, NewReno, Sack1, Fack) and their sinks."""
