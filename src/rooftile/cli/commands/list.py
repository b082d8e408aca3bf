"""List what there is: operations, their named problems, their strategies, models, experiments.

Without a word it lists the operations.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rooftile.cli._commands import command_module
from rooftile.cli._options import operation_names
from rooftile.cli.render.output import Output
from rooftile.cli.render.records import shapes
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    from rooftile.ops.registry import Operation
    from rooftile.strategies import Strategy

_KINDS = ("cpu", "cuda", "opencl")
DEFAULTS = {"device": None}
DEVICE = "only strategies of that kind of device (default: of all)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=("operations", "shapes", "strategies", "models", "experiments"),
        default="operations",
        help="what to list (default operations)",
    )
    parser.add_argument(
        "operation",
        nargs="?",
        metavar="OP",
        help=f"whose shapes or strategies (default: of all): {', '.join(operation_names())}",
    )
    parser.add_argument("--names", action="store_true", help="bare names, one a line")


def command(arguments: argparse.Namespace) -> int:
    """Print the list.  Exit code 0."""
    output = Output(arguments)
    if arguments.what == "models":
        found, sheet = _models()
    elif arguments.what == "experiments":
        found, sheet = command_module("reproduce").listed()
    elif arguments.what == "operations":
        found, sheet = _operations(_asked(arguments))
    elif arguments.what == "shapes":
        found, sheet = _shapes(_asked(arguments))
    else:
        found, sheet = _strategies(_asked(arguments), arguments.device)
    output.result({arguments.what: found})
    output.show(*((one["name"] for one in found) if arguments.names else (sheet,)))
    return 0


Found = tuple[list[dict[str, Any]], Sheet]
"""The same for a program, and for a person."""


def _asked(arguments: argparse.Namespace) -> list[Operation]:
    """The operations to tell of.  Raises `InputError`."""
    from rooftile.ops.registry import operation, operations

    if arguments.operation is not None:
        return [operation(arguments.operation)]
    return list(operations().values())


def _operations(asked: list[Operation]) -> Found:
    sheet = Sheet("operation", "what it computes", wraps=["what it computes"])
    found = []
    for one in asked:
        sheet.add_row(one.name, one.summary)
        found.append(
            {
                "name": one.name,
                "summary": one.summary,
                "shapes": list(one.named),
                "textbook": list(one.textbook.shapes),
                "large": list(one.large.shapes),
            }
        )
    return found, sheet


def _shapes(asked: list[Operation]) -> Found:
    from rooftile.lab.measure.records import problem_json
    from rooftile.ops import named

    sheet = Sheet("shape", "what it is", "arrays", wraps=["what it is", "arrays"])
    found = []
    for one in asked:
        sheet.add_row(f"{one.name}:")
        for shape in one.named:
            problem = named(one.name, shape)
            # Another package's problems need not say it.
            words = f"{problem.in_words()}." if problem.words else one.summary
            sheet.add_row(f"  {shape}", words, shapes(problem))
            found.append(
                {
                    "operation": one.name,
                    "name": shape,
                    "summary": words,
                    "problem": problem_json(problem),
                }
            )
    return found, sheet


def _strategies(asked: list[Operation], device: str | None) -> Found:
    """Every rung, on kinds of device, in rising order."""
    from rooftile.devices.select import parse_device

    kinds = _KINDS if device is None else (parse_device(device)[0],)
    sheet = Sheet("strategy", "devices", "prec", "what it changes", wraps=["what it changes"])
    found = []
    for one in asked:
        sheet.add_row(f"{one.name}:")
        for rung in _rungs(one.name, kinds):
            devices = ", ".join(kind for kind in rung.devices if kind in kinds)
            sheet.add_row(f"  {rung.name}", devices, rung.precision, rung.summary)
            found.append(
                {
                    "operation": one.name,
                    "name": rung.name,
                    "devices": list(rung.devices),
                    "precision": rung.precision,
                    "summary": rung.summary,
                }
            )
    return found, sheet


def _rungs(operation: str, kinds: Sequence[str]) -> list[Strategy]:
    """The rungs on each kind of device, each once."""
    from rooftile.errors import InputError
    from rooftile.strategies import ladder

    found: list[Strategy] = []
    for kind in kinds:
        with contextlib.suppress(InputError):  # It has none on that kind of device.
            found += [rung for rung in ladder(operation, kind) if rung not in found]
    return found


def _models() -> Found:
    from rooftile.nn.models import MODELS, SUMMARIES

    sheet = Sheet("model", "images", "what it is", wraps=["what it is"])
    found = []
    for name, network in MODELS.items():
        sheet.add_row(name, "x".join(map(str, network.input_shape)), SUMMARIES[name])
        found.append(
            {
                "name": name,
                "images": list(network.input_shape),
                "layers": [layer.name for layer in network.layers],
                "summary": SUMMARIES[name],
            }
        )
    return found, sheet
