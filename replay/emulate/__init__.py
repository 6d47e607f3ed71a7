"""The link models in real time, between the real TCP of two network namespaces."""
