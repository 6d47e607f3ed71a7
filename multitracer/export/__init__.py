"""Series and tables in the formats of other tools."""
