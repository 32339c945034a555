"""Tests of claims; a package so that its builders import as ``tests.proofs.forms``."""
