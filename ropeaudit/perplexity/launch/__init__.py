"""Where cells are measured: in this process, or on the machines of a Ray cluster.

A launcher is a module in this folder, found by its name.
"""
