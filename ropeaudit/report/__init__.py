"""Reports: one frozen result in, text out. One module a format, found by folder.

Each format module has ``FORMAT`` (its name) and ``render(report) -> str``, a pure function. A
format that can also write the result of ``show`` has ``render_schedules(subjects) -> str``.
"""
