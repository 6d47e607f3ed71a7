"""Recordings of this machine's own transfers: packets, TCP's state, and the settings that they ran under."""
