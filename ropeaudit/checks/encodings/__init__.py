"""Checks of encodings that are no single table, in a folder of their own: see ``interface``."""
