"""Where the time of a transfer went: every instant of the session and its one cause.

`air_time` says what the link sent when, `waiting` when data waited for it, `idle_causes` why it sent nothing,
`intervals` lays causes over one another, and `session` reads them together. `limits` says what limited TCP, with
`deliveries`: when its data came.
"""
