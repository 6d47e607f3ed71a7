"""Compiled loops (kernels): how they are compiled, cached and run in threads; and operations on whole columns."""
