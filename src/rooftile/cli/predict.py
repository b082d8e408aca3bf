"""Say what a network sees in picture files.

Each picture is resized to the network's input, in grey or in colour as the network has channels,
and standardised as its training images were.  Pillow reads the files.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._network import load_network, percent_of
from rooftile.cli._options import positive
from rooftile.cli._output import Output
from rooftile.cli._tables import Sheet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_INSTALL = 'pip install "pillow>=10"'
_MODES = {1: "L", 3: "RGB"}
"""Pillow's name for images of so many channels."""
_SHOWN = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("model", metavar="MODEL", help="lenet5, mnist8, or a safetensors file")
    parser.add_argument("pictures", nargs="+", type=Path, metavar="PICTURE", help="image files")
    parser.add_argument(
        "--top", type=positive, default=_SHOWN, metavar="N", help=f"classes (default {_SHOWN})"
    )


def command(arguments: argparse.Namespace) -> int:
    """Classify, print the likeliest classes of each picture.  Exit code 0."""
    import numpy as np

    import rooftile

    output = Output(arguments)
    network = load_network(arguments.model, None)
    channels = network.input_shape[0]
    x = np.concatenate([network.prepare(_pixels(path, channels)) for path in arguments.pictures])
    scores = network.plan(batch=len(x), device=arguments.device)(x)
    shares = rooftile.softmax(scores)
    names = _names(network.metadata, shares.shape[1])
    found = []
    for path, row in zip(arguments.pictures, shares, strict=True):
        likeliest = [int(k) for k in np.argsort(-row)[: arguments.top]]
        classes = [{"class": names[k], "label": k, "share": float(row[k])} for k in likeliest]
        found.append({"picture": str(path), "classes": classes})
    output.result({"model": network.name, "device": arguments.device, "pictures": found})
    output.show(_table(found))
    return 0


def _pixels(path: Path, channels: int) -> NDArray[np.uint8]:
    """A picture as uint8[1, channels, height, width].  Raises `InputError`, `DeviceMissing`."""
    import numpy as np

    from rooftile.errors import DeviceMissing, InputError

    try:
        from PIL import Image
    except ImportError as error:
        raise DeviceMissing(f"Pillow, which reads pictures ({error})", _INSTALL) from None
    if channels not in _MODES:
        raise InputError("MODEL", f"a network of {channels} channels", f"one of {list(_MODES)}")
    try:
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert(_MODES[channels]))
    except OSError as error:
        raise InputError(str(path), f"no picture ({error})", "a file that Pillow reads") from None
    height, width = pixels.shape[:2]
    return np.moveaxis(pixels.reshape(height, width, channels), -1, 0)[None]


def _names(metadata: Any, count: int) -> list[str]:
    """What the classes are called, as far as the file says it, or what it was trained on."""
    import json

    from rooftile.nn.data import CLASSES

    if "classes" in metadata:
        names: list[str] = json.loads(metadata["classes"])
        if len(names) == count:
            return names
    if "Fashion-MNIST" in metadata.get("trained_on", "") and count == len(CLASSES):
        return list(CLASSES)
    return [f"class {number}" for number in range(count)]


def _table(found: list[dict[str, Any]]) -> Sheet:
    sheet = Sheet("picture", "class", "share", numbers=["share"])
    for one in found:
        for number, likely in enumerate(one["classes"]):
            name = "" if number else one["picture"]
            sheet.add_row(name, likely["class"], percent_of(likely["share"]))
    return sheet
