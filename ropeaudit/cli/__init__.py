"""The command line: it parses, calls, prints and exits. One module a command, found by folder.

A command module has ``command``, a function whose signature is the command's options and whose
docstring is its help. Nothing heavy is imported above the function bodies: a command that is not
run costs nothing, and typer itself is most of the start.
"""
