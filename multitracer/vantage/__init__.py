"""Which observation points saw what, on which side of the path, and on which clock."""
