"""Launches a foreign kernel's text once, for a tool that watches the process.

This is a script; its argument says what to launch on which arrays, which lie in a folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.devices.select import open_gpu
from rooftile.lab.audit.worker_text import compile_text


def launch(request: dict[str, Any]) -> None:
    """Compile, upload, launch, wait."""
    device: Any = open_gpu(request["device"])
    folder, words = Path(request["folder"]), request["launch"]
    text = Path(request["file"]).read_text(encoding="utf-8")
    with device.on():
        program = compile_text(device, text, request["function"], request["macros"])
        arrays = {
            name: device.upload(np.fromfile(folder / name, np.uint8)) for name in request["arrays"]
        }
        grid, block = tuple(words["grid"]), tuple(words["block"])
        started = Launch(request["function"], grid, block, words["shared_bytes"])
        arguments = [
            arrays[one] if isinstance(one, str) else np.int32(one) for one in request["arguments"]
        ]
        program.launch(started, *arguments)
        device.synchronise()


if __name__ == "__main__":
    launch(json.loads(sys.argv[1]))
