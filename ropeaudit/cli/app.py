"""The application: finds commands by folder, maps whatever happens to an exit code.

0 the gate passed · 1 a finding at or above ``--fail-on`` · 2 usage, settings, pack, unreadable
input or internal error · 3 nothing was audited, or something could not be decided.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ropeaudit._version import __version__
from ropeaudit.errors import RopeAuditError, quoted

FAILED = 2
INTERRUPTED = 130


def command_names() -> list[str]:
    """Commands are the public modules of this folder."""
    folder = Path(__file__).parent
    names = (p.stem for p in folder.glob("*.py") if not p.name.startswith("_"))
    return sorted(n.replace("_", "-") for n in names if n != "app")


class Commands(TyperGroup):
    """Imports a command only when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return command_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in command_names():
            return None
        module = import_module(f"ropeaudit.cli.{cmd_name.replace('-', '_')}")
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=cmd_name, epilog=module.EXAMPLES)(module.command)
        return _keeping_words(typer.main.get_command(single))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # Typer suggests only from commands that are loaded already; these are loaded on demand.
        if args and args[0] not in command_names() and not args[0].startswith("-"):
            from ropeaudit.errors import suggestion

            ctx.fail(f"no command {quoted(args[0])}{suggestion(args[0], command_names())}")
        return super().resolve_command(ctx, args)


def _keeping_words(command: Any) -> Any:
    """The command with options that take words and lists of words as they are.

    There is nothing to convert, but typer (from 0.29) would build a pydantic validator for every
    option, used or not: 150 ms of imports and schemas before the first line of ours runs.
    """
    all_params = command.get_params

    def get_params(ctx: Any) -> Any:
        found = all_params(ctx)  # with --help, which typer adds on the way
        for parameter in found:
            if "process_value" not in vars(parameter):
                parameter.process_value = _word_taker(parameter)
                if parameter.param_type_name == "argument":
                    _named_plainly(parameter)
        return found

    command.get_params = get_params
    return command


def _named_plainly(argument: Any) -> None:
    """``TARGET...`` or ``A B`` in the help, where typer writes Python: ``TARGET <list[str]>``."""
    endless = argument.nargs == -1 and " " not in argument.metavar
    name = argument.metavar + ("..." if endless else "")
    argument.make_metavar = argument._usage_display_name = lambda *_, **__: name
    argument.display_type_rich = lambda *_, **__: ""


def _word_taker(parameter: Any) -> Any:
    convert = parameter.process_value

    def process(ctx: Any, value: Any) -> Any:
        words = value is None or isinstance(value, str | list | tuple)
        if not words or (parameter.required and not value):
            return convert(ctx, value)
        return value if parameter.callback is None else parameter.callback(ctx, parameter, value)

    return process


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ropeaudit {__version__}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Audit the rotary position embedding schedules that models really use."""


def application() -> Any:
    """The command tree."""
    app = typer.Typer(
        name="ropeaudit",
        cls=Commands,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="Try: ropeaudit audit path/to/model")(_top)
    return _keeping_words(typer.main.get_command(app))


def run(arguments: Sequence[str]) -> int:
    """Run the command line ``arguments``; returns the exit code, whatever happens."""
    try:
        code = application().main(
            args=list(arguments), prog_name="ropeaudit", standalone_mode=False
        )
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit as stop:
        # Typer leaves this way after completion, and with 1 when a pipe is closed; but 1 means a
        # finding here, and a report that nobody received is no verdict.
        if stop.code != 1:
            return stop.code if isinstance(stop.code, int) else 0
        _drop_output()
        return FAILED
    except BrokenPipeError:
        _drop_output()
        return FAILED
    except Exception as error:
        return _explain(error)
    return code if isinstance(code, int) else 0


def _drop_output() -> None:
    """The reader went away, as ``head`` does: what is left in the buffer has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _explain(error: Exception) -> int:
    """One line (or typer's own words) for an error; the traceback only under ROPEAUDIT_DEBUG."""
    if os.environ.get("ROPEAUDIT_DEBUG") == "1":
        import traceback

        traceback.print_exc()
        return FAILED
    show = getattr(error, "show", None)  # a usage error of typer's parser
    if callable(show):
        show()
    elif isinstance(error, RopeAuditError):
        print(f"ropeaudit: {error}", file=sys.stderr)
    else:
        kind = type(error).__name__
        print(
            f"ropeaudit: internal error ({kind}: {quoted(str(error), 300)}); "
            "run again with ROPEAUDIT_DEBUG=1 and report the traceback",
            file=sys.stderr,
        )
    return FAILED


def main() -> None:
    """Entry point of the ``ropeaudit`` program."""
    if sys.argv[1:2] != ["ppl"]:
        # The matrices of an audit are small: threads bring nothing, and where other cores are busy
        # their waiting for each other makes an eigendecomposition ten times slower.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # File names need not be valid text, and no terminal need know every sign.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))
