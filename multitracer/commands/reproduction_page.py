"""The text of docs/reproduction.md: how verdicts are reached, and the papers with what their texts leave open."""

from __future__ import annotations

from collections import Counter

from multitracer.replay.papers import PAPERS
from multitracer.replay.papers.alternatives import alternatives, taken
from multitracer.replay.papers.folder import examined, read
from multitracer.replay.papers.statements import KINDS, PLURALS, statements

_TEXT = """# Reproduction

`multitracer reproduce` runs the experiments of five papers again and says, statement by statement, whether our runs
say the same.

    multitracer reproduce                                  all papers, with few seeds and short transfers
    multitracer reproduce rlc-sack --scale paper -o full   one paper as published, 30 seeds of 10 MB
    multitracer reproduce asr --alternatives beside        other readings of the text beside the defaults

Written are `reproduce.json` (every statement with its verdict, and the single tests behind it), `runs.parquet` (each
metric of each run: paper, experiment, variant, choice, seed, metric, value) and `reproduce.html`, which shows the
statements in a table that can be sorted, each published value beside ours, and the papers' figures from our runs.

Runs are kept in `DIR/.multitracer/runs.jsonl` as they end: stopped, it goes on where it was. Points with equal keys
share their runs. What another commit, or other sources, of MultiTracer ran is not used.

## Scales

`--scale paper` has the seeds and sizes that the papers state, but for the millions of connections of rlc-web.
`--scale quick`, the default, has 5 seeds, files of 1 MB, 200 s of web, 2,000 connections a point (rlc-web), 100
sessions (delivery-order) and a tenth of the transfers and placements (multitracer). It shows trends; its verdicts
enter no score.

## Under this machine's TCP

    sudo multitracer reproduce delivery-order --emulate --pairs 2 -o emulated

also runs the sessions of delivery-order with real packets and this machine's kernel (Reno), over the same link in real
time (see `emulate`): SACK on and off as the paper had it, and what kernels have in FACK's place, F-RTO on and off, RACK
with and without its threshold of duplicate acknowledgements. These are 144 combinations with the three rates and shares
of frames erased, of 20 sessions each (5 at 32 kbit/s): some six hours, which may be stopped and go on. `--scale quick`
has 384 kbit/s alone, and 5 sessions. Of sessions that ran several at once those in which the link was late are run
again, one at a time. One in which it was late while it ran alone, as all do without `--pairs`, is counted, and left out
of every mean. `emulated.html` shows the results beside the paper's table and the modelled Linux 2.4; they enter no
score.

## From a text to runs

A paper is a folder of `replay/papers/`: scenarios as `multitracer simulate` takes them, `paper.toml` (seeds, and what
points are called in statements and figures), `statements.toml` and `alternatives.toml`. A value of a scenario is
either stated by the paper, or a choice that its text leaves open, which the file names by its ID. The choices were
taken from the text, before there were results, and are tuned to none. `--alternatives` runs others, one at a time and
all else at its default, and prints their verdicts beside; they never replace the default's.

Run i of every option meets the same losses, media and pages, so that options are compared seed by seed.

## Verdicts

Every statement has a check of single tests, decided at the confidence level that its paper states (99 % for rlc-sack,
95 % for the others but the values of delivery-order, 99 %).

| verdict | is |
|---|---|
| reproduced | every test holds |
| not reproduced | a test is contradicted: by the interval, or by the means where the test is of means |
| undecided | no test is contradicted, one at least is open: its interval is too wide, or runs are missing |
| calibrated | an input of ours was fitted to it |
| set-up | it states the set-up, which is compared with the scenarios' keys |
| not decidable | seen once on a real network: no run can decide it |

- `a beats b`: the paired difference is above 0 at the level. Where the interval holds 0 the test is open.
- An optimum: the highest mean of all options, beaten by none at the level, and beating those that the statement is
  about. Where a check asks for means alone, they decide, however near they are; if the level separates none of those
  that are the wrong way round, the reason is the scale.
- A value: within 1.41 half-widths of the published one, as both means scatter. Where such a width would admit no
  effect at all, what lies inside leaves the test open, and so wide intervals reproduce nothing. Three quotients of
  delivery-order that hold for almost any outcome stay undecided.

`because` names the test that decides, with what was found. `distance` is how far off it is: of a value ours less the
published one, in its unit; of others, and of a published range, how far the worst test falls short, in percent of what
is compared. `reason`, where a statement is not reproduced: an *open choice* under which it would be, the *text against
itself*, the *scale* (more runs might decide it), or *unexplained*. It is null where runs are missing: a key that cannot
be simulated yet stops nothing, `not_simulated` and `because` name it, and its statements are undecided.

## Score

Only results count, and each once: statements that repeat another name it (`repeats`). Undecided ones count among all,
without being reached, but for two of rlc-web that no number of runs at hand decides. `random_orderings` says what
chance would reach: the options of each figure permuted at random, the same for all error rates, 1,000 times, and the
same checks applied. A score of orderings means as much as it is above that.

`first_run` is the score of the first run at the paper's scale, as `replay/papers/PAPER/first_run.json` keeps it with
its commit: whatever is mended later, that one was had without knowing the results.
"""


def reproduction_page() -> str:
    """How verdicts are reached; then each paper, what it states, and the choices that its text leaves open."""
    return _TEXT + "\n## Papers\n" + "".join(_paper(paper) for paper in PAPERS)


def _paper(paper: str) -> str:
    said = read(paper, "paper")
    counts = Counter(one.kind for one in statements(paper) if one.scored)
    counted = ", ".join(f"{counts[kind]} {PLURALS[kind]}" for kind in KINDS)
    rows = "".join(
        f"| {one.id} | {one.text} | {_notes(one.needs, beside=one.beside)} |\n" for one in alternatives(paper)
    )
    defaults = ", ".join(f"{choice}{letter}" for choice, letter in taken(paper).items() if len(letter) == 1)
    return (
        f"\n### {paper}\n\n{said['number']}, {said['title']}: {len(statements(paper))} statements, of which count "
        f"{counted}.\n\nTaken: {defaults}.\n\n| alternative | is | |\n|---|---|---|\n{rows}{_examined(paper)}"
    )


def _examined(paper: str) -> str:
    """What was looked at where the first run fell short."""
    found = "".join(f"- {one}\n" for one in examined(paper))
    return f"\nLooked at after the first run, for a defect of ours:\n\n{found}" if found else ""


def _notes(needs: str, *, beside: bool) -> str:
    return f"cannot be run: needs {needs}" if needs else "beside" if beside else ""
