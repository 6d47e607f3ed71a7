"""Observation points: what each captured, on which side of the path, and its clock."""
