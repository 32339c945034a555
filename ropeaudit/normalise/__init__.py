"""Rewriting a config so that most engines agree on it, byte for byte elsewhere."""
