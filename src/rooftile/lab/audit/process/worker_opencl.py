"""Runs a stranger's OpenCL text on the processor when it is asked to.  No rooftile in here.

There the text is a program like any other, which may do in this process whatever it likes.  So the
process is kept apart as a Python kernel's is, knows as little, and is timed by the judge's clock.
Buffers are the judge's own arrays in shared memory: nothing is copied before or after a launch.
"""

from __future__ import annotations

import importlib.util
import json
import math
import mmap
import os
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np

_OPTIONS = ["-cl-std=CL1.2", "-w"]
_Told = tuple[str, str, tuple[float, ...]]
"""An answer: its kind, its text, its numbers."""


class DoesNotCompile(Exception):
    """The compiler refuses the text; the message has its log."""


class OpenclText:
    """Serves the requests that `trampoline` serves, for a text."""

    def __init__(self, channel: Any, arena: int) -> None:
        self._channel = channel
        self._arena = np.frombuffer(mmap.mmap(arena, 0), np.uint8)
        self._built: dict[str, Any] = {}

    def serve(self) -> None:
        """Answer requests until there are no more."""
        for request in self._channel.requests():
            try:
                kind, text, numbers = getattr(self, f"_{request['do']}")(request)
            except DoesNotCompile as error:
                kind, text, numbers = "raised", str(error), ()
            except Exception as error:
                kind, text, numbers = "raised", f"{type(error).__name__}: {error}"[:1000], ()
            self._channel.answer(kind, text, numbers)

    def _load(self, request: dict[str, Any]) -> _Told:
        if request["vendors"] is not None:
            # The loader reads which drivers there are from a folder, which was hidden.
            folder = Path(tempfile.mkdtemp())
            for name, text in request["vendors"].items():
                (folder / name).write_text(text, encoding="utf-8")
            os.environ["OCL_ICD_VENDORS"] = str(folder)
        import pyopencl

        self._cl: Any = pyopencl
        # Some compilers talk even of success.
        warnings.simplefilter("ignore", pyopencl.CompilerWarning)
        platform, number = request["place"]
        device = pyopencl.get_platforms()[platform].get_devices()[number]
        self._device, self._context = device, pyopencl.Context([device])
        self._queue = pyopencl.CommandQueue(self._context)
        path = Path(request["file"])
        # Compilers name the lines of the stranger's file, whatever stands before its text.
        place = json.dumps(path.name)
        self._text = f"#line 1 {place}\n{path.read_text(encoding='utf-8', errors='replace')}"
        self._name = str(request["function"])
        return "done", "", ()

    def _arrays(self, request: dict[str, Any]) -> _Told:
        launch = request["launch"]
        program = self._program(request["macros"])
        self._local = tuple(launch["block"])
        self._total = tuple(g * b for g, b in zip(launch["grid"], self._local, strict=True))
        names = (*request["names"], *request["outputs"])
        self._slots = []
        for slot in request["slots"]:
            held = [self._buffer(*place) for place in (*slot["given"], *slot["outs"])]
            arrays = dict(zip(names, held, strict=True))
            kernel = self._cl.Kernel(program, self._name)
            given = [
                arrays[one][0] if isinstance(one, str) else np.int32(one) for one in request["args"]
            ]
            if launch["shared_bytes"]:
                given.append(self._cl.LocalMemory(launch["shared_bytes"]))
            kernel.set_args(*given)
            self._slots.append((kernel, held))
        info = self._cl.kernel_work_group_info.LOCAL_MEM_SIZE
        shared = kernel.get_work_group_info(info, self._device) + launch["shared_bytes"]
        return "done", "", (math.nan, float(shared), math.nan, math.nan)

    def _program(self, macros: dict[str, Any]) -> Any:
        lines = "".join(f"#define {name} {value}\n" for name, value in sorted(macros.items()))
        if lines not in self._built:
            program = self._cl.Program(self._context, lines + self._text)
            try:
                self._built[lines] = program.build(_OPTIONS, cache_dir=False)
            except self._cl.RuntimeError as error:
                raise DoesNotCompile(f"it does not compile:\n{_log(str(error))}") from None
        return self._built[lines]

    def _buffer(self, offset: int, shape: list[int], dtype: str) -> tuple[Any, Any]:
        """A buffer that is a part of the shared memory, and that part."""
        itemsize = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
        part = self._arena[offset : offset + math.prod(shape) * itemsize]
        flags = self._cl.mem_flags
        use = flags.READ_WRITE | flags.USE_HOST_PTR
        return self._cl.Buffer(self._context, use, hostbuf=part), part

    def _run(self, request: dict[str, Any]) -> _Told:
        cl, queue = self._cl, self._queue
        for index in request["slots"]:
            cl.enqueue_nd_range_kernel(queue, self._slots[index][0], self._total, self._local)
        queue.finish()
        for index in set(request["slots"]):
            for buffer, part in self._slots[index][1]:
                # Where memory is shared, this says that the host may read it now.
                mapped, _ = cl.enqueue_map_buffer(
                    queue, buffer, cl.map_flags.READ, 0, part.shape, part.dtype
                )
                mapped.base.release(queue)
        queue.finish()
        return "done", "", ()

    def _profile(self, request: dict[str, Any]) -> _Told:
        return "done", "", ()

    _tell = _profile


def _log(error: str) -> str:
    """What a compiler said of a text, out of PyOpenCL's error."""
    _, built, log = error.partition("\nBuild on ")
    log = log.partition("\n")[2] if built else error
    return log.partition("\n(options:")[0].strip()[:900]


def _sibling(name: str) -> types.ModuleType:
    """A module next to this one, by its path: the package around it cannot be seen from here."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    memory, go, done, arena = map(int, sys.argv[1:5])
    OpenclText(_sibling("channel").Channel(memory, go, done), arena).serve()
