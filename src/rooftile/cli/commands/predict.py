"""Say what a network sees in picture files, or in the rows of a table.

Each picture is resized to the network's input, in grey or in colour as the network has channels,
and standardised as its training images were.  Pillow reads the files.  A network over rows takes a
table instead, with or without labels:

  rooftile predict mlp.safetensors --data new.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._options import add_table_arguments, positive, table_words
from rooftile.cli.render.networks import as_prepared, class_names, load_network, percent_of
from rooftile.cli.render.output import Output
from rooftile.cli.render.sheet import Sheet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rooftile.nn import Network
    from rooftile.ops import Float32

INSTALL = 'pip install "pillow>=10"'
_MODES = {1: "L", 3: "RGB"}
"""Pillow's mode for images by their number of channels."""
_SHOWN = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("model", metavar="MODEL", help="lenet5, mnist8, or a safetensors file")
    parser.add_argument("pictures", nargs="*", type=Path, metavar="PICTURE", help="image files")
    parser.add_argument(
        "--top", type=positive, default=_SHOWN, metavar="N", help=f"classes (default {_SHOWN})"
    )
    group = parser.add_argument_group("of a network over rows")
    group.add_argument(
        "--data", type=Path, metavar="FILE", help="the rows, CSV or NPZ, with labels or without"
    )
    add_table_arguments(group)
    group.add_argument("--prepared", action="store_true", help="rows are standardised already")


def command(arguments: argparse.Namespace) -> int:
    """Classify, print the likeliest classes of each picture or row.  Exit code 0."""
    output = Output(arguments)
    network = load_network(arguments.model, None)
    if arguments.prepared:
        network = as_prepared(network)
    names, x = _inputs(arguments, network)
    kind = "picture" if network.interface.images else "row"
    outputs = network.plan(batch=len(x), device=arguments.device, prepared=True)(x)
    found = [{kind: name, **one} for name, one in zip(names, _told(network, outputs), strict=True)]
    for one in found:
        one["classes"] = one["classes"][: arguments.top]
    output.result({"model": network.name, "device": arguments.device, f"{kind}s": found})
    output.show(
        _regression_table(found, kind) if network.interface.regression else _table(found, kind)
    )
    return 0


def _inputs(arguments: argparse.Namespace, network: Network) -> tuple[list[Any], Float32]:
    """The pictures' or rows' names, and what the layers read of them.  Raises `InputError`."""
    import numpy as np

    from rooftile.errors import InputError
    from rooftile.nn.data import read_features

    if network.interface.images:
        if arguments.data is not None or not arguments.pictures:
            found = "--data" if arguments.data is not None else "no PICTURE"
            raise InputError("PICTURE", found, f"image files: {network.name} reads images")
        channels = network.input_shape[0]
        parts = [network.prepare(_pixels(path, channels)) for path in arguments.pictures]
        return [str(path) for path in arguments.pictures], np.concatenate(parts)
    if arguments.data is None or arguments.pictures:
        found = "nothing" if arguments.data is None else "PICTURE with it"
        raise InputError("--data", found, f"one table, CSV or NPZ: {network.name} reads rows")
    targets = network.output_shape[0] if network.interface.regression else 1
    words = table_words(arguments)
    rows = read_features(arguments.data, network.input_shape[0], **words, targets=targets)
    return list(range(1, len(rows) + 1)), network.prepare(rows)


def _told(network: Network, outputs: Float32) -> Iterator[dict[str, Any]]:
    """The outputs of each input, and its classes from the likeliest on; of a regression none."""
    import numpy as np

    interface = network.interface
    if interface.regression:
        yield from ({"classes": [], "outputs": row.tolist()} for row in outputs)
        return
    names = class_names(network.metadata, interface.classes)
    for row, output, label in zip(
        interface.shares(outputs), outputs, interface.labels(outputs), strict=True
    ):
        # Of equal shares the class comes first that every other way to ask gives.
        order = sorted(np.argsort(-row, kind="stable").tolist(), key=lambda k: k != label)
        classes = [{"class": names[k], "label": k, "share": float(row[k])} for k in order]
        yield {"classes": classes, "outputs": output.tolist()}


def _pixels(path: Path, channels: int) -> NDArray[np.uint8]:
    """A picture as uint8[1, channels, height, width].  Raises `InputError`, `DeviceMissing`."""
    import numpy as np

    from rooftile.errors import DeviceMissing, InputError

    try:
        from PIL import Image
    except ImportError as error:
        raise DeviceMissing(f"Pillow, which reads pictures ({error})", INSTALL) from None
    if channels not in _MODES:
        raise InputError("MODEL", f"a network of {channels} channels", f"one of {list(_MODES)}")
    try:
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert(_MODES[channels]))
    except OSError as error:
        raise InputError(str(path), f"no picture ({error})", "a file that Pillow reads") from None
    height, width = pixels.shape[:2]
    return np.moveaxis(pixels.reshape(height, width, channels), -1, 0)[None]


def _table(found: list[dict[str, Any]], kind: str) -> Sheet:
    sheet = Sheet(kind, "class", "share", numbers=["share"])
    for one in found:
        for number, likely in enumerate(one["classes"]):
            name = "" if number else str(one[kind])
            sheet.add_row(name, likely["class"], percent_of(likely["share"]))
    return sheet


def _regression_table(found: list[dict[str, Any]], kind: str) -> Sheet:
    columns = [f"output {number}" for number in range(1, len(found[0]["outputs"]) + 1)]
    sheet = Sheet(kind, *columns, numbers=[kind, *columns])
    for one in found:
        sheet.add_row(str(one[kind]), *(f"{value:.6g}" for value in one["outputs"]))
    return sheet
