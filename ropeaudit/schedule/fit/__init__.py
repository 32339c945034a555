"""Which law a bare table follows, read off its numbers alone."""
