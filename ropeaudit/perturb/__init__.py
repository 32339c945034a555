"""Perturbations of a schedule, one module each; a recipe names and composes them."""
