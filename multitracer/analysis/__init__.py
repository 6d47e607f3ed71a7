"""The analysis: the steps from a trace to its conclusions, the summary and the verdict."""
