"""TCP of 4.4BSD, as in BSDi 3.0: Reno with timers that count half seconds."""
