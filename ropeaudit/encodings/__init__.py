"""Position encodings beyond one table of frequencies: learned, non-commuting, damped, biased.

One module an encoding, found by folder: generators, the operator at a position, and the spectrum,
in float64. ``torch/`` holds the same encodings as modules that drop into attention.
"""
