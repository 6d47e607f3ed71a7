"""The commands: one file each, with the options and nothing else."""
