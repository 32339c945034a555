"""Where a variant can be written, one module each."""
