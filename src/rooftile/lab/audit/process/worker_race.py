"""Launches a foreign kernel's text once, for a tool that watches the process.

This is a script; its argument is an open file that says what to launch on which arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.devices.select import open_gpu
from rooftile.lab.audit.process.worker_emulated import handed
from rooftile.lab.audit.process.worker_text import compile_text
from rooftile.lab.judge.exam import as_bytes
from rooftile.ops import AnyArray


def launch(request: dict[str, Any], values: Mapping[str, AnyArray]) -> None:
    """Compile, upload, launch, wait."""
    device: Any = open_gpu(request["device"])
    words = request["launch"]
    text = Path(request["file"]).read_text(encoding="utf-8")
    with device.on():
        program, name = compile_text(device, text, request["function"], request["macros"])
        arrays = {name: device.upload(as_bytes(array)) for name, array in values.items()}
        grid, block = tuple(words["grid"]), tuple(words["block"])
        started = Launch(name, grid, block, words["shared_bytes"])
        arguments = [
            arrays[one] if isinstance(one, str) else np.int32(one) for one in request["arguments"]
        ]
        program.launch(started, *arguments)
        device.synchronise()


if __name__ == "__main__":
    launch(*handed(sys.argv[1]))
