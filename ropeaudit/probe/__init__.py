"""Probes: small experiments on what an encoding can express."""
