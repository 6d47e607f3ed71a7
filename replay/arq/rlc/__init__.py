"""UMTS RLC in acknowledged, unacknowledged and transparent mode (3GPP TS 25.322)."""
