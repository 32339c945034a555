"""Tests of conversions; a package so that its builders import as ``tests.convert.made``."""
