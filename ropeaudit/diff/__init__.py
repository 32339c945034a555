"""How two schedules differ, and what that is called.

``pairing`` says which schedule of A answers to which of B, ``measure`` puts numbers to a pair,
``losses`` (one file a kind) names in words what was lost, and ``compare`` makes a verdict of it.
"""
