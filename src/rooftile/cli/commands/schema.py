"""Print the JSON Schema of what a command prints with --json."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rooftile.cli.contract import OBJECTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument(
        "of",
        nargs="?",
        choices=sorted(OBJECTS),
        metavar="COMMAND",
        help="the command; without it the schemas of all commands by name",
    )


def command(arguments: argparse.Namespace) -> int:
    """Print the schema.  Exit code 0."""
    found = schema(arguments.of) if arguments.of else {name: schema(name) for name in OBJECTS}
    print(json.dumps(found, indent=1))
    return 0


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema, draft 2020-12, of the object that a command prints."""
    import msgspec

    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**dialect, **msgspec.json.schema(OBJECTS[name])}
