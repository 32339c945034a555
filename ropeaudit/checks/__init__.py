"""Checks: mechanisms that look at one subject and conclude; rules (YAML) give them policy.

One module a check, found by its slug (``duplicate-frequency`` is ``duplicate_frequency.py``), so
that adding one is adding a file. The module docstring is the check's documentation: it has the
sections *What it checks*, *Why it matters*, *Passes when*, *Fails when*, *Exactness*, *Options* and
*References*; ``ropeaudit explain`` and the rule pages are made from it.
"""
