"""The program, with the run of `simulated` in the place of a simulation: `python simulate_command.py ARGUMENT...`."""

from __future__ import annotations

import simulated

from multitracer.__main__ import main
from multitracer.commands import simulate

if __name__ == "__main__":
    simulate._runner = lambda: simulated.run  # type: ignore[assignment]
    main()
