"""What a trace is, what is concluded from one, and the errors: types that every other room uses."""
