"""What applications send: files, web pages and media, drawn from their distributions."""
