"""Simulation: TCP and workloads over a modelled link, many seeds and variants of one scenario."""
