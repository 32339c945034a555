"""Tests; a package so that shared builders import as ``tests.schedules``."""
