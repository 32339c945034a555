"""How sure a measured inflation is, and what a set of cells says about the paper's claims."""
