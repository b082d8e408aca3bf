"""The command line's entry: the parser, and what becomes of errors."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

import rooftile
from rooftile.cli import (
    audit,
    climb,
    compare,
    completion,
    devices,
    explain,
    history,
    predict,
    ranking,
    report,
    reproduce,
    run,
    submit,
    train,
    tune,
)
from rooftile.cli import list as listing
from rooftile.cli._options import count
from rooftile.errors import InputError, RooftileError

_COMMANDS = (
    run,
    train,
    climb,
    tune,
    audit,
    explain,
    history,
    compare,
    report,
    reproduce,
    submit,
    ranking,
    devices,
    predict,
    listing,
    completion,
)
_PURPOSE = "Convolutional networks and parallel patterns, up to the hardware's roof."
_USAGE = 2
_INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (None: the process's own); returns the exit code.

    0 for success, 1 for an error, 2 for wrong usage: an argument, or a file, that is not what the
    command takes (argparse's own complaints end by `SystemExit`).  Errors are printed without a
    traceback unless ``--debug``.
    """
    parsed = _parser().parse_args(arguments)
    try:
        _check_device(parsed.device)
        code: int = parsed.command(parsed)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone: no complaint, also not at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (RooftileError, OSError, MemoryError) as error:
        if parsed.debug:
            traceback.print_exc()
        else:
            print(f"rooftile: {error}", file=sys.stderr)
        return _USAGE if isinstance(error, InputError) else 1


def _check_device(name: str | None) -> None:
    """Raise `InputError` for what is no device, also where a command only compares its name."""
    if name not in (None, "cpu"):
        from rooftile.devices.select import parse_device

        parse_device(name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rooftile", description=_PURPOSE)
    parser.add_argument("--version", action="version", version=f"rooftile {rooftile.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in _COMMANDS:
        name = module.__name__.rpartition(".")[2]
        doc = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=doc, description=module.__doc__)
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        module.add_arguments(command)
        _add_common(command)
        # A command that only looks things up shows every device, unless one is named.
        command.set_defaults(
            command=module.command, parser=parser, **getattr(module, "DEFAULTS", {})
        )
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("common")
    group.add_argument(
        "--device",
        default="cpu",
        metavar="cpu|cuda[:N]|opencl[:N]",
        help="where to compute (default cpu)",
    )
    group.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    group.add_argument(
        "--seed", type=count, default=0, metavar="N", help="of everything random (default 0)"
    )
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")
