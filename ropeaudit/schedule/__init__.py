"""Schedules: what they are, how engines build them, and what their numbers look like."""
