"""Where the time of a transfer went: every instant of the session and its one cause.

`air` says what the link sent when, `idleness` why it did not, `painting` lays one over the other,
`accounting` reads them together.
"""
