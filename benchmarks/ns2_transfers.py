"""Random transfers with lost frames, through ns-2.35 itself and through the model of its TCP: are they the same?

ns-2's clock ticks at a phase that each agent draws; it is the second number of the generator's seed. Reports transfers
that differ by a microsecond or in a count. One in which a packet arrived at the very instant of a timer may differ:
ns-2's times are doubles, and their rounding decides there. Needs the program `ns` (Debian: ns2). Usage:

    python benchmarks/ns2_transfers.py [--transfers 300] [--seed 1]
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from ns2_path import MS, SERVER
from ns2_path import Path as NsPath

from multitracer.replay.tcp.ns2.parameters import Parameters

SCRIPT = Path(__file__).with_suffix(".tcl")
AGENTS = {"reno": "Reno", "newreno": "Newreno", "sack": "Sack1", "fack": "Fack"}
WIRED = {"10M1": ("10Mb", "1ms"), "2M50": ("2Mb", "50ms")}
VARIABLES = {
    "window_segments": "window_", "min_rto_s": "minrto_", "max_rto_s": "maxrto_", "initial_rto_s": "rtxcur_init_",
    "tick_s": "tcpTick_", "initial_window": "windowInit_", "max_burst_segments": "maxburst_", "syn": "syn_",
    "limited_transmit": "singledup_", "segment_bytes": "packetSize_",
}  # fmt: skip
"""Parameters, and the variables of ns-2's agents that they are."""
ZEROED = {"MALLOC_PERTURB_": "255"}
"""Makes glibc hand out zeros: Fack starts with a flag (fastrecov_) that ns-2 never sets."""
NEVER_SENT = 10**7
PHASES = "foreach s $argv {$defaultRNG seed $s; $defaultRNG uniform 0 1; puts [$defaultRNG uniform 0 1]}"


@dataclass
class Transfer:
    """What is run, here and there."""

    seed: int
    wired: str
    packets: int
    again: tuple[float, int]
    """When the application sends so many more (s, packets)."""
    lost: tuple[list[int], list[int]]
    settings: dict[str, Any] = field(default_factory=dict)

    def here(self, phase: float) -> tuple[str, int, int, int]:
        """The model's time, packets sent and sent again; and ties."""
        parameters = Parameters(**self.settings, tick_phase_s=phase * self.settings["tick_s"])
        path = NsPath(parameters, self.wired, (set(self.lost[0]), set(self.lost[1])))
        path.write(SERVER, self.packets, parameters.segment_bytes)
        at = path.finish(SERVER, self.packets)
        if self.again[1]:
            for _ in path.run(round(self.again[0] * 1000) * MS):
                pass
            path.now = round(self.again[0] * 1000) * MS
            path.write(SERVER, self.again[1], parameters.segment_bytes)
            at = path.finish(SERVER, self.packets + self.again[1])
        e = path.tcp.ends[SERVER]
        return f"{at / 1e9:.6f}", int(e.packets), int(e.retransmissions), path.ties

    def there(self) -> tuple[str, int, int]:
        """The same of ns-2."""
        settings = {VARIABLES[name]: value for name, value in self.settings.items() if name in VARIABLES}
        variables = " ".join(f"{name} {value:g}" for name, value in settings.items())
        agent, delayed = AGENTS[self.settings["variant"]], self.settings["delayed_ack"] == "second"
        sink = ("/Sack1" if agent in ("Sack1", "Fack") else "") + ("/DelAck" if delayed else "")
        lost = [" ".join(map(str, each or [NEVER_SENT])) for each in self.lost]
        arguments = [self.seed, agent, *WIRED[self.wired], sink, self.packets, *self.again, *lost]
        said = ns(SCRIPT, *map(str, arguments), f"useHeaders_ false {variables}").split()
        return said[0], int(said[1]), int(said[2])


def ns(*arguments: Any) -> str:
    """What ns-2 prints."""
    done = subprocess.run(["ns", *arguments], capture_output=True, text=True, check=True, env=os.environ | ZEROED)
    return done.stdout


def draw(source: random.Random) -> Transfer:
    """A random transfer."""
    packets = source.choice([20, 60, 200, 400])
    lost = (
        losses(source, packets, source.choice([0, 0.01, 0.03, 0.1, 0.25]), source.choice([1, 1, 2, 6, 12])),
        losses(source, packets, source.choice([0, 0, 0.02, 0.1, 0.3]), source.choice([1, 1, 4])),
    )
    again = (source.choice([300.0, 100_000.0]), source.choice([0, 0, 15, 60]))
    if again[0] < 100_000 and sum(map(len, lost)) > 3:  # else the first part may not have ended
        again = (100_000.0, again[1])
    settings = {
        "variant": source.choice(list(AGENTS)), "delayed_ack": source.choice(["none", "second"]),
        "segment_bytes": source.choice([250, 250, 290, 1000]), "min_rto_s": source.choice([0, 0.2, 0.5, 1]),
        "window_segments": source.choice([20, 20, 20, 4, 8, 32, 64, 128]), "syn": source.random() < 0.85,
        "max_burst_segments": source.choice([0, 0, 0, 2, 3, 4]), "limited_transmit": source.random() < 0.85,
        "initial_window": source.choice([2, 2, 2, 1, 3, 4]), "tick_s": source.choice([0.01, 0.01, 0.01, 0.1]),
        "max_rto_s": source.choice([60, 60, 60, 6]), "initial_rto_s": source.choice([3, 3, 3, 6]),
    }  # fmt: skip
    return Transfer(source.randrange(1, 10**6), source.choice(list(WIRED)), packets, again, lost, settings)


def losses(source: random.Random, packets: int, rate: float, burst: int) -> list[int]:
    """Frames lost, in bursts of a mean length."""
    starts = [number for number in range(2 * packets + 60) if source.random() < rate / burst]
    lengths = [1 + int(source.expovariate(1 / burst)) if burst > 1 else 1 for _ in starts]
    return sorted({at for start, length in zip(starts, lengths, strict=True) for at in range(start, start + length)})


def phases(transfers: list[Transfer]) -> list[float]:
    """The phase of each transfer's clock, in ticks."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "phases.tcl"
        script.write_text(PHASES)
        return [float(word) for word in ns(script, *(str(each.seed) for each in transfers)).split()]


def main() -> None:
    """Run and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfers", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    source = random.Random(options.seed)
    transfers = [draw(source) for _ in range(options.transfers)]
    found = Counter[str]()
    for each, phase in zip(transfers, phases(transfers), strict=True):
        *ours, ties = each.here(phase)
        theirs = list(each.there())
        found["equal" if ours == theirs else "different, with a tie" if ties else "different"] += 1
        if ours != theirs:
            print(f"ns-2 {theirs}, here {ours}, ties {ties}: {each}")
    print(dict(found))


if __name__ == "__main__":
    main()
