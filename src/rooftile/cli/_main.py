"""The command line's entry: the parser, and what becomes of errors."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

import rooftile
from rooftile._files import is_full
from rooftile.cli._commands import command_module, groups, is_known
from rooftile.cli._help import grouped, where_to_begin
from rooftile.cli._options import count
from rooftile.errors import InputError, RooftileError, did_you_mean

_PURPOSE = "Convolutional networks and parallel patterns, up to the hardware's roof."
_BELOW = "one of those below; rooftile COMMAND --help tells its options"
_USAGE = 2
_INTERRUPTED = 130
"""A shell's exit status for a program that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (None: the process's own); returns the exit code.

    0 for success, 1 for an error, 2 for wrong usage: an argument, or a file, that is not what the
    command takes (argparse's own complaints end by `SystemExit`).  Errors are printed without a
    traceback unless ``--debug``.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if not words:
        print(f"usage: rooftile COMMAND ...\n\n{_PURPOSE}\n\n{where_to_begin()}", file=sys.stderr)
        raise SystemExit(_USAGE)
    try:
        parser = _parser(words[0])
    except InputError as error:
        # The command of a distribution that is not installed.
        print(f"rooftile: {error}", file=sys.stderr)
        return _USAGE
    parsed = parser.parse_args(words)
    try:
        _check_device(parsed.device)
        code: int = parsed.command(parsed)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone: no complaint, also not at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (RooftileError, OSError, MemoryError) as error:
        if isinstance(error, OSError) and is_full(error) and error.filename is None:
            error = OSError(error.errno, error.strerror, "standard output")
            # The interpreter would complain of what it could not write at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if parsed.debug:
            import traceback

            traceback.print_exc()
        else:
            print(f"rooftile: {error}", file=sys.stderr)
        return _USAGE if isinstance(error, InputError) else 1


def _check_device(name: str | None) -> None:
    """Raise `InputError` for what is no device, also where a command only compares its name."""
    if name not in (None, "cpu"):
        from rooftile.devices.names import parse_device

        parse_device(name)


class _CommandParser(argparse.ArgumentParser):
    """A parser whose refusals of a command, an option or a choice name the nearest one."""

    def error(self, message: str) -> NoReturn:
        if found := re.search(r"invalid choice: '([^']+)' \(choose from (.+)\)", message):
            message += did_you_mean(found[1], re.findall(r"[\w:.-]+", found[2]))
        elif found := re.search(r"unrecognized arguments: (--[\w-]+)", message):
            message += did_you_mean(found[1], self._options())
        super().error(message)

    def _options(self) -> list[str]:
        names: list[str] = []
        for action in self._actions:
            names += action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    names += command._options()
        return names


def _parser(word: str = "") -> argparse.ArgumentParser:
    """The parser of all commands; of one alone where the first ``word`` names it, unless that is to
    tell of all of them."""
    parser = _CommandParser(prog="rooftile", description=_PURPOSE)
    parser.add_argument("--version", action="version", version=f"rooftile {rooftile.__version__}")
    # A command without ``help`` is not listed: `grouped` lists all of them.
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", help=_BELOW
    )
    purposes = {}
    alone = word != "completion" and is_known(word)
    listed = {} if alone else groups()
    for name in (word,) if alone else (name for names in listed.values() for name in names):
        module = command_module(name)
        purposes[name] = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, description=module.__doc__)
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        module.add_arguments(command)
        _add_common(command, getattr(module, "DEVICE", "where to compute (default cpu)"))
        # A command that only looks things up shows every device, unless one is named.
        command.set_defaults(
            command=module.command, parser=parser, **getattr(module, "DEFAULTS", {})
        )
    if listed:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = grouped(listed, purposes)
    return parser


def _add_common(parser: argparse.ArgumentParser, device: str) -> None:
    group = parser.add_argument_group("common")
    group.add_argument(
        "--device",
        default="cpu",
        metavar="cpu|cuda[:N]|opencl[:N]",
        help=device,
    )
    group.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    group.add_argument(
        "--seed", type=count, default=0, metavar="N", help="of everything random (default 0)"
    )
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")
