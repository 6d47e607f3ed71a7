"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# The first example of a property may compile its kernels, which takes longer than any deadline.
settings.register_profile("compiling", deadline=None)
settings.load_profile("compiling")
