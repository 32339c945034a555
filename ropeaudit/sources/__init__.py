"""Sources: bytes in, facts out. One module a format, chosen by content and not by suffix."""
