"""Link protocols as state machines that are told the time, and never ask for it: one module a protocol."""
