"""The ways in which kernels run, as environment variables of a process."""

MODES = {
    "compiled": {},
    "plain": {"NUMBA_DISABLE_JIT": "1"},
    # Hardly optimised: every kernel is compiled for this alone, in a third of the time.
    "bounds-checked": {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1"},
}
