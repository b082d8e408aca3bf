"""Runs a foreign kernel's text on the host, under ThreadSanitizer, behind walls.

This is a script; its argument is an open file with a request and arrays.  The text becomes a
program of the host, which may do what any program may, so whatever this process says is not to be
believed: it may hide a race, which it could also do by not racing here.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import Launch, macro_lines
from rooftile.lab.emulation import Finding, NotCompiled, run
from rooftile.ops import AnyArray
from rooftile.ops.problem import numpy_dtype

FOUND, NOT_COMPILED, NOT_EMULATED = 20, 21, 22
"""Exit codes."""


def handed(file: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The request and the arrays of a file that `races` has made."""
    with np.load(f"/proc/self/fd/{file}") as held:
        request: dict[str, Any] = json.loads(held["a request"].tobytes())
        arrays = {
            name: held[name].view(numpy_dtype(dtype)).reshape(shape)
            for name, (dtype, shape) in request["arrays"].items()
        }
    return request, arrays


def emulate(file: str) -> None:
    """Compile, launch, end with what was found."""
    request, arrays = handed(file)
    words = request["launch"]
    started = Launch(
        words["kernel"], tuple(words["grid"]), tuple(words["block"]), words["shared_bytes"]
    )
    path = Path(request["file"])
    line = f"#line 1 {json.dumps(path.name)}\n"
    text = macro_lines(request["macros"]) + line + path.read_text(encoding="utf-8")
    own = Path(tempfile.mkdtemp())
    try:
        run(
            text,
            (path.parent,),
            [(started, request["arguments"])],
            arrays,
            own,
            sanitizer="lines",
            opencl=path.suffix == ".cl",
            limit_s=request["limit_s"],
            header=Path(request["header"]),
        )
    except NotCompiled as error:
        _end(NOT_COMPILED, str(error))
    except NotImplementedError as error:
        _end(NOT_EMULATED, str(error))
    except Finding as error:
        _end(FOUND, str(error))


def _end(code: int, said: str) -> None:
    print(said, flush=True)
    os._exit(code)


if __name__ == "__main__":
    emulate(sys.argv[1])
