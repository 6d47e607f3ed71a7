"""TCP of Linux 2.4: FACK, SACK or NewReno with adaptation to reordering, undo and rate halving."""
