"""Encoders and decoders of the protocols on the wire, from Ethernet to TCP and the link protocols."""
