"""The experiments of five published papers as scenarios, what they state, and whether our runs say the same.

A folder a paper holds its scenarios (`base.toml` and one file an experiment), `paper.toml` (how its runs are counted
and labelled), `alternatives.toml` (what the text leaves open) and `statements.toml` (what it states, each with its
check). `plan` lists the runs to make, `results` makes a table of what they gave, and `document` decides every statement
from it.
"""

PAPERS = ("rlc-sack", "rlc-web", "delivery-order", "asr", "multitracer")
"""In the order of their numbers, 000 to 004."""
SCALES = ("quick", "paper")
