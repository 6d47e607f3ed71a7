"""Compiled loops over arrays (kernels), their cache and threads, and operations on whole columns."""
