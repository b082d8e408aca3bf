"""Runs a foreign kernel's text, ``.cu`` or ``.cl``, on a GPU, in a process of its own.

This is a script.  No stranger's code runs on this process's processor, so its clocks can be
trusted; but a text can crash or hang the driver, and keep state on the device.  So the judge's
rules hold here too: inputs and poison come from the judge, new ones for every launch, and the judge
compares.
Where OpenCL's device is the processor, `worker_opencl` runs the text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import mmap
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cuda import CudaDevice
from rooftile.devices.gpu import Launch, macro_lines
from rooftile.devices.opencl.device import OpenclDevice
from rooftile.devices.select import open_gpu
from rooftile.errors import CompileFailure, InputError
from rooftile.lab.audit.process.channel import Channel
from rooftile.ops.problem import numpy_dtype
from rooftile.runtime.timing.device import Flush

_LEAD = 4
"""How often the last-level cache is overwritten before launches are timed."""


class TextWorker:
    """Serves the judge's requests, as `trampoline` does."""

    def __init__(self, channel: Channel, arena: int) -> None:
        self._channel = channel
        self._bytes = np.frombuffer(mmap.mmap(arena, 0), np.uint8)

    def serve(self) -> None:
        """Answer requests until the judge closes the channel."""
        for request in self._channel.requests():
            kind, text, numbers = "done", "", ()
            try:
                text, numbers = getattr(self, f"_{request['do']}")(request) or ("", ())
            except InputError as error:
                kind, text = "usage", str(error)
            except CompileFailure as error:
                kind, text = "raised", f"it does not compile:\n{error.log}"[:1000]
            except Exception as error:
                # PyOpenCL's errors, too, which are classes of their own.
                kind, text = "raised", f"{type(error).__name__}: {error}"[:1000]
            self._channel.answer(kind, text, numbers)

    def _load(self, request: dict[str, Any]) -> None:
        self._device: Any = open_gpu(request["device"])
        path = Path(request["file"])
        # Compilers name the lines of the stranger's file, whatever stands before its text.
        place = json.dumps(path.name)
        self._text = f"#line 1 {place}\n{path.read_text(encoding='utf-8', errors='replace')}"
        self._function = str(request["function"])
        self._flush: Flush | None = None
        self._built: dict[str, tuple[Any, str]] = {}

    def _arrays(self, request: dict[str, Any]) -> tuple[str, tuple[float | None, ...]]:
        launch, guard = request["launch"], request["guard"]
        macros = request["macros"]
        key = macro_lines(macros)
        if key not in self._built:
            self._built[key] = compile_text(self._device, self._text, self._function, macros)
        self._program, name = self._built[key]
        grid, block = tuple(launch["grid"]), tuple(launch["block"])
        self._launch = Launch(name, grid, block, launch["shared_bytes"])
        names = (*request["names"], *request["outputs"])
        self._replays: dict[tuple[int, ...], Callable[[], object]] = {}
        self._slots = []
        for slot in request["slots"]:
            given = [_Held(self._device, *_span(*one), 0) for one in slot["given"]]
            outs = [_Held(self._device, *_span(*one), guard) for one in slot["outs"]]
            arrays = dict(zip(names, (one.part for one in (*given, *outs)), strict=True))
            arguments = [
                arrays[one] if isinstance(one, str) else np.int32(one) for one in request["args"]
            ]
            self._slots.append(([*given, *outs], arguments))
        used = self._program.resources(self._launch)
        return "", tuple(dataclasses.astuple(used))

    def _run(self, request: dict[str, Any]) -> tuple[str, tuple[float | None, ...]] | None:
        """Upload with the judge's poison, launch, and bring everything back, inputs and what is
        around outputs too: the kernel may have changed them."""
        slots, timed = request["slots"], request.get("timed")
        numbers = None
        with self._device.on():
            if timed:
                self._prepare(tuple(slots))
            self._upload(slots)
            if timed:
                numbers = self._timed(tuple(slots), timed == "cold")
            else:
                self._start(slots)
            self._device.synchronise()
            for index in set(slots):
                for held in self._slots[index][0]:
                    held.fetch(self._bytes)
        return None if numbers is None else ("", numbers)

    def _upload(self, slots: Sequence[int]) -> None:
        for index in set(slots):
            for held in self._slots[index][0]:
                held.upload(self._bytes)

    def _start(self, slots: Sequence[int]) -> None:
        for index in slots:
            self._program.launch(self._launch, *self._slots[index][1])

    def _prepare(self, slots: tuple[int, ...]) -> None:
        """Capture the launches on these slots, which must have run before."""
        if slots not in self._replays:
            self._upload(slots)
            self._start(slots)
            self._device.synchronise()
            self._replays[slots] = self._device.captured(lambda: self._start(slots))
        if self._flush is None:
            self._flush = Flush(self._device)

    def _timed(self, slots: tuple[int, ...], cold: bool) -> tuple[float, float, float]:
        """Seconds of the launches by the device's clock; and of them with what went before, by the
        device's clock and by the host's.

        The last-level cache is filled with something else, which also brings the clock up; then the
        contents of warm launches are copied, so that they lie in that cache, as far as they fit.
        """
        device, flush = self._device, self._flush
        assert flush is not None
        device.synchronise()
        start = time.perf_counter()
        first = device.mark()
        for _ in range(_LEAD):
            flush()
        for index in slots:
            for held in self._slots[index][0]:
                held.renew()
        if cold:
            flush()
        middle = device.mark()
        self._replays[slots]()
        last = device.mark()
        device.synchronise()
        host = time.perf_counter() - start
        return 1e-3 * device.between(middle, last), 1e-3 * device.between(first, last), host


class _Held:
    """An array in the device's memory, its guards around it, and the same bytes once more."""

    def __init__(self, device: Any, offset: int, nbytes: int, guard: int) -> None:
        self._device, self._span = device, slice(offset - guard, offset + nbytes + guard)
        self._nbytes = nbytes + 2 * guard
        self._memory, self._staged = (device.allocate(self._nbytes) for _ in range(2))
        self.part = device.part(self._memory, guard, nbytes) if guard else self._memory

    def upload(self, shared: NDArray[np.uint8]) -> None:
        """Take the bytes from the judge's memory."""
        self._device.copy_in(shared[self._span], self._staged)
        self.renew()

    def renew(self) -> None:
        """Start to put them back as they were uploaded."""
        to, source = self._device.address(self._memory), self._device.address(self._staged)
        self._device.copy(to, source, self._nbytes)

    def fetch(self, shared: NDArray[np.uint8]) -> None:
        """Give them to the judge."""
        self._device.copy_out(self._memory, shared[self._span])


def _span(offset: int, shape: list[int], dtype: str) -> tuple[int, int]:
    """The first byte of an array, and its number of bytes."""
    return offset, math.prod(shape) * numpy_dtype(dtype).itemsize


def compile_text(
    device: Any, text: str, function: str, macros: dict[str, int | str]
) -> tuple[Any, str]:
    """A text as it stands, without our prelude, for a device; and what its kernel is called there.

    Raises `CompileFailure`.
    """
    if isinstance(device, OpenclDevice):
        return device.compile(text, macros, plain=True), function
    from rooftile.devices.cuda.program import CudaProgram

    assert isinstance(device, CudaDevice)
    code, name = compile_cuda(text, function, macros, device.description.architecture)
    return CudaProgram(device, code), name


def compile_cuda(
    text: str, function: str, macros: dict[str, int | str], architecture: str
) -> tuple[bytes, str]:
    """A cubin by NVRTC, which needs no GPU, and the kernel's name in it.  ``function`` may be a
    template's instance, such as ``tile<16>``.  Raises `CompileFailure`."""
    from rooftile.devices.cuda.nvrtc import Refused, compiled_kernel

    options = [f"-arch={architecture}", "--std=c++17"]
    options += [f"--include-path={folder}" for folder in _headers()]
    try:
        return compiled_kernel(macro_lines(macros) + text, options, function)
    except Refused as error:
        raise CompileFailure(function, str(error), "the audited file") from None


def _headers() -> list[str]:
    """The folders of CUDA's headers, if they are installed."""
    found = []
    with contextlib.suppress(Exception):
        from cuda.pathfinder import find_nvidia_header_directory

        for library in ("cudart", "cccl"):
            folder = find_nvidia_header_directory(library)
            if folder:
                found.append(str(folder))
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return [*found, f"{home}/include"]


if __name__ == "__main__":
    memory, go, done, shared = map(int, sys.argv[1:5])
    TextWorker(Channel(memory, go, done), shared).serve()
