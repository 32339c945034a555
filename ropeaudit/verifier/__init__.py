"""Checks a certificate without its target and without the code that made it.

Nothing here is imported from the rest of the package, and nothing beyond the standard library: an
error in the prover cannot hide in its checker.
"""
