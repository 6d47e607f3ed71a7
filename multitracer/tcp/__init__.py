"""What captured segments say by themselves, and what copies of them at several points say together."""
