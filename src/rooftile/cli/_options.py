"""Options that several commands share, and the numbers that options take.

A number that makes no sense is refused here, by the option's name: none is silently replaced.
"""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import Any

PRECISIONS = ("ieee", "fast", "tf32", "fp16", "bf16")
"""As `rooftile.ops.Precision`, which loads NumPy: the command line gives help without it."""


def operation_names() -> list[str]:
    """The package's own operations, found without importing what computes."""
    package = Path(__file__).parents[1]
    ladders = (path.parent.name for path in package.glob("strategies/*/ladder.py"))
    operations = {path.stem for path in package.glob("ops/*/*.py")}
    return sorted(name for name in ladders if name in operations)


def model_names() -> list[str]:
    """The built-in networks, by the files of their weights."""
    weights = Path(__file__).parents[1] / "nn" / "weights"
    return sorted(path.stem for path in weights.glob("*.safetensors"))


def add_operation(parser: argparse.ArgumentParser) -> None:
    """The operation, whose names the help tells."""
    known = ", ".join(operation_names())
    parser.add_argument(
        "operation", metavar="OP", help=f"{known}; or one that a package of yours brings"
    )


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, least=1)


def count(text: str) -> int:
    """A whole number of at least 0."""
    return _whole(text, least=0)


def _whole(text: str, least: int) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return int(text)


def seconds(text: str) -> float:
    """A positive number of seconds."""
    return _number(text, "a positive number of seconds", math.inf)


def share(text: str) -> float:
    """A share between 0 and 1."""
    return _number(text, "a number between 0 and 1", 1.0)


def _number(text: str, what: str, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < most:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def add_problem(parser: argparse.ArgumentParser) -> None:
    """The problem of an operation: ``--shape``, ``--batch`` and ``--stored``."""
    parser.add_argument(
        "--shape",
        default="",
        metavar="NAME|key=value,...",
        help="a named problem (`rooftile list shapes OP` names them; default: the operation's "
        "own), or its sizes, as in channels=3,height=64,width=64,maps=8,mask=5x5 and, further, "
        "padding=2x2,activation=relu,pool=max:2",
    )
    parser.add_argument("--batch", type=positive, metavar="N", help="inputs at a time")
    parser.add_argument(
        "--stored",
        action="append",
        default=[],
        metavar="NAME=DTYPE[:LAYOUT]",
        help="how an array is stored, as in x=float16 or out=float16:channels_last; once for each",
    )


def with_storage(arguments: argparse.Namespace, shape: str) -> str:
    """A shape with what ``--stored`` says, as `rooftile.ops.parse` takes it."""
    from rooftile.ops.named import STORED

    return f"{shape}{STORED}{','.join(arguments.stored)}" if arguments.stored else shape


def option_words(shape: str) -> str:
    """The options that give such a shape."""
    from rooftile.ops.named import STORED

    shape, _, storage = shape.partition(STORED)
    return " ".join([f"--shape {shape}", *(f"--stored {s}" for s in storage.split(",") if s)])


def add_large(parser: argparse.ArgumentParser) -> None:
    """``--large``: the operation's large problem."""
    parser.add_argument(
        "--large",
        action="store_true",
        help="the operation's large problem, at which the upper rungs show what they can, instead "
        "of the one at which the textbook's finish soon",
    )


def shapes_of(arguments: argparse.Namespace, operation: str) -> tuple[str, ...]:
    """The shape that was asked for, or the problems that stand for an operation on that device.

    Their batch is set where none was asked for.  Raises `InputError`.
    """
    from rooftile.devices.names import parse_device
    from rooftile.errors import InputError
    from rooftile.ops import climbed_shapes

    if arguments.shape:
        if arguments.large:
            raise InputError("--large", f"with --shape {arguments.shape}", "one of the two")
        return (with_storage(arguments, arguments.shape),)
    found = climbed_shapes(operation, parse_device(arguments.device)[0], large=arguments.large)
    if arguments.batch is None:
        arguments.batch = found.batch
    return tuple(with_storage(arguments, shape) for shape in found.shapes)


def add_table_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the options of a table's file."""
    parser.add_argument("--delimiter", default=",", metavar="C", help="between columns of a CSV")
    parser.add_argument("--header", action="store_true", help="the first line has names")
    parser.add_argument(
        "--label", default="-1", metavar="N|NAME", help="the label's column (default: the last)"
    )


def table_words(arguments: argparse.Namespace) -> dict[str, Any]:
    """The same as `rooftile.nn.data.read_table` takes them."""
    text = arguments.label
    label = int(text) if text.removeprefix("-").isdigit() else text
    return {"delimiter": arguments.delimiter, "header": arguments.header, "label": label}


def check_writable(option: str, path: Path) -> None:
    """Raise `InputError` before the work rather than after it, where no file can be written."""
    from rooftile.errors import InputError

    if not path.parent.is_dir() or path.is_dir():
        raise InputError(option, str(path), "a file in a directory that exists")
    # A file is written under another name and renamed; a pipe or a device is written to.
    into = path if path.exists() and not path.is_file() else path.resolve().parent
    if not os.access(into, os.W_OK):
        raise InputError(option, f"{path}, which you may not write", "a file that you may write")


def shape_of(arguments: argparse.Namespace, operation: str) -> str:
    """The shape and the storage that were asked for, or the operation's default.  Raises
    `InputError`."""
    from rooftile.ops import default_shape

    return with_storage(arguments, arguments.shape or default_shape(operation))


def add_precision(
    parser: argparse.ArgumentParser, meaning: str, default: str | None = None
) -> None:
    """``--precision``, which means something of its own to each command."""
    parser.add_argument("--precision", choices=PRECISIONS, default=default, help=meaning)
