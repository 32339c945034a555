"""Sources: bytes in, facts out. One module a format, chosen by content and not by suffix.

``opening.open_target`` is the door. A module of this package is a source when it has ``FORMAT``,
``SUFFIXES``, ``sniff`` and ``read`` (see ``interface``); adding a format is adding a file.
"""
