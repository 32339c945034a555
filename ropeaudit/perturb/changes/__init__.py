"""The perturbations, one module each; found by folder, so adding one is adding a file.

Each module has HEADS (how recipes spell it), Params, RESCALES, ``check``, ``expect`` and ``apply``
(``ropeaudit.perturb.interface.Perturbation``). Values are computed in float64 from the schedule's
float32 table and rounded to float32 once. Channels that a family defines as zero stay zero and take
no part.
"""
