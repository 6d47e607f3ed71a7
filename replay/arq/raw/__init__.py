"""The raw link: what is lost stays lost."""
