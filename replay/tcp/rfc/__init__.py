"""TCP by its RFCs: Reno, NewReno, SACK, and FACK by its paper; 4.4BSD is a set of its rules."""
