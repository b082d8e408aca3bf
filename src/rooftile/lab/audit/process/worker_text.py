"""Runs a foreign kernel's text, ``.cu`` or ``.cl``, in a process of its own.

This is a script.  On a GPU no stranger's code runs on this process's processor, so its clocks and
its comparisons can be trusted; but a text can crash or hang the driver, and keep state on the
device.  So the judge's rules hold here too: inputs and poison come from the judge, who also
compares; and while times are taken every result is compared with the one that was judged.  Where
OpenCL's device is the processor, the text is a part of this process, which is then behind walls,
and the judge's clock looks on (`rooftile.lab.audit.checks.text_speed`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import mmap
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaDevice
from rooftile.devices.gpu import Launch, macro_lines
from rooftile.devices.opencl.device import OpenclDevice
from rooftile.devices.select import open_gpu
from rooftile.errors import CompileFailure, InputError
from rooftile.lab.audit.process.arena import GUARD
from rooftile.lab.audit.process.channel import Channel
from rooftile.ops.problem import numpy_dtype
from rooftile.runtime.timing.device import Flush, Times, in_turns, work_of
from rooftile.runtime.timing.host import Timing
from rooftile.runtime.timing.telemetry import sensors


class TextWorker:
    """Serves the judge's requests, those of `trampoline` and ``time``."""

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
        self._text = f"#line 1 {place}\n{path.read_text(encoding='utf-8')}"
        self._function = str(request["function"])
        self._flush: Flush | None = None

    def _arrays(self, request: dict[str, Any]) -> None:
        device, launch = self._device, request["launch"]
        self._slots = [
            ([_span(*one) for one in slot["given"]], [_span(*one) for one in slot["outs"]])
            for slot in request["slots"]
        ]
        text, macros = self._text, request["macros"]
        self._program, name = compile_text(device, text, self._function, macros)
        grid, block = tuple(launch["grid"]), tuple(launch["block"])
        self._launch = Launch(name, grid, block, launch["shared_bytes"])
        given, outs = self._slots[0]
        self._given = [device.allocate(nbytes) for _, nbytes in given]
        self._outs = [device.allocate(nbytes + GUARD) for _, nbytes in outs]
        names = (*request["names"], *request["outputs"])
        arrays = dict(zip(names, (*self._given, *self._outs), strict=True))
        self._arguments = [
            arrays[one] if isinstance(one, str) else np.int32(one) for one in request["args"]
        ]

    def _run(self, request: dict[str, Any]) -> None:
        with self._device.on():
            for index in request["slots"]:
                self._call(index, request.get("times", 1))

    def _call(self, index: int, times: int) -> None:
        """Upload with the judge's poison, launch so often, and bring everything back, inputs too:
        the kernel may have changed them."""
        device, (given, outs) = self._device, self._slots[index]
        for buffer, (offset, nbytes) in zip(self._given, given, strict=True):
            device.copy_in(self._bytes[offset : offset + nbytes], buffer)
        self._poisoned = [self._bytes[offset : offset + n + GUARD].copy() for offset, n in outs]
        self._poison()
        for _ in range(times):
            self._program.launch(self._launch, *self._arguments)
        device.synchronise()
        for buffer, (offset, nbytes) in zip(self._given, given, strict=True):
            device.copy_out(buffer, self._bytes[offset : offset + nbytes])
        for buffer, (offset, nbytes) in zip(self._outs, outs, strict=True):
            device.copy_out(buffer, self._bytes[offset : offset + nbytes + GUARD])

    def _time(self, request: dict[str, Any]) -> tuple[str, tuple[float | None, ...]]:
        """Warm and cold times of launches on what the last call left on the device."""
        device = self._device
        with device.on():
            right, wrong = self._result(), [0]
            if self._flush is None:
                self._flush = Flush(device)
            flush = self._flush

            def between() -> None:
                # This runs untimed, before each cold launch and after the one before it.
                wrong[0] += self._result() != right
                self._poison()
                flush()

            def launch() -> None:
                self._program.launch(self._launch, *self._arguments)

            work = dataclasses.replace(work_of(device, launch, flush), flush=between)
            seconds = float(request["seconds"])
            timing: Times = in_turns({"": work}, read=sensors(device), seconds=seconds)[""]
            wrong[0] += self._result() != right
            used = self._program.resources(self._launch)
        assert timing.cold is not None, "a device's times are warm and cold"
        warm, cold = _numbers(timing.warm), _numbers(timing.cold)
        resources = dataclasses.astuple(used)
        return timing.contradiction, (float(wrong[0]), *warm, *cold, *resources)

    def _result(self) -> list[bytes]:
        found = [np.empty(nbytes, np.uint8) for _, nbytes in self._slots[0][1]]
        for out, buffer in zip(found, self._outs, strict=True):
            self._device.copy_out(buffer, out)
        return [out.tobytes() for out in found]

    def _poison(self) -> None:
        for values, buffer in zip(self._poisoned, self._outs, strict=True):
            self._device.copy_in(values, buffer)


def _numbers(timing: Timing) -> tuple[float, ...]:
    """A timing without its samples."""
    waited = math.nan if timing.waited is None else timing.waited
    return (timing.median, timing.p20, timing.p80, timing.min, timing.n, timing.steady, waited)


def _span(offset: int, shape: list[int], dtype: str) -> tuple[int, int]:
    """Where an array begins, and how many bytes it has."""
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
    """Where CUDA's headers lie, if they are installed."""
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
