"""Runs a foreign kernel's text, ``.cu`` or ``.cl``, in a process of its own.

A script.  No stranger's code runs on this process's processor, so its clocks and its
comparisons are to be trusted; but a text can crash or hang the driver, and keep state on the
device.  So the judge's rules hold here too: inputs and poison come from the judge, who also
compares; and while times are taken every result is compared with the one that was judged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import mmap
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.cuda import CudaDevice
from rooftile.devices.gpu import macro_lines
from rooftile.devices.opencl.device import OpenclDevice
from rooftile.devices.select import open_gpu
from rooftile.errors import CompileFailure, InputError, RooftileError
from rooftile.lab.audit.arena import GUARD, POISON
from rooftile.lab.audit.launch import LaunchLine
from rooftile.lab.audit.worker import limit_process
from rooftile.lab.measure_gpu import Flush, GpuTiming, in_turns, work_of
from rooftile.lab.telemetry import sensors
from rooftile.ops import Problem


class TextWorker:
    """Serves the judge's requests, those of `worker` and ``time``."""

    def __init__(self, channel: int, arena: int) -> None:
        self._channel = os.fdopen(channel, "r+b", buffering=0)
        self._input = os.fdopen(os.dup(channel), "rb")
        self._floats = np.frombuffer(mmap.mmap(arena, 0), np.float32)

    def serve(self) -> None:
        """Until the judge closes the channel."""
        for line in self._input:
            request = json.loads(line)
            try:
                answer = getattr(self, f"_{request['do']}")(request)
            except InputError as error:
                answer = {"error": "usage", "what": str(error)}
            except (RooftileError, RuntimeError, ValueError, TypeError) as error:
                answer = {"error": "raised", "what": f"{type(error).__name__}: {error}"[:1000]}
            except Exception as error:
                # PyOpenCL's and cuda-core's errors are classes of their own.
                answer = {"error": "raised", "what": f"{type(error).__name__}: {error}"[:1000]}
            self._channel.write(json.dumps(answer).encode() + b"\n")

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        self._device: Any = open_gpu(request["device"])
        self._text = Path(request["file"]).read_text(encoding="utf-8")
        self._function = str(request["function"])
        self._line: LaunchLine = pickle.loads(bytes.fromhex(request["launch"]))
        self._flush: Flush | None = None
        return {}

    def _arrays(self, request: dict[str, Any]) -> dict[str, Any]:
        problem: Problem = pickle.loads(bytes.fromhex(request["problem"]))
        device, line = self._device, self._line
        self._slots = request["slots"]
        self._program = compile_text(device, self._text, self._function, line.macros(problem))
        self._launch = line.launch(self._function, problem)
        names, slot = request["names"], self._slots[0]
        self._inputs = [device.allocate(4 * math.prod(shape)) for _, shape in slot["inputs"]]
        self._count = math.prod(slot["out"][1])
        self._out = device.allocate(4 * (self._count + GUARD))
        arrays = {**dict(zip(names, self._inputs, strict=True)), "out": self._out}
        if "out" not in line.args:
            raise InputError("launch", "args without out", "the result's place among them")
        self._arguments = line.arguments(problem, arrays)
        return {}

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        with self._device.on():
            for _ in range(request.get("repeat", 1)):
                for index in request["slots"]:
                    self._call(index)
        return {"seconds": time.perf_counter() - start, "strange": None}

    def _call(self, index: int) -> None:
        """Upload, poison, launch, and bring everything back: inputs may have been changed."""
        device, slot = self._device, self._slots[index]
        for buffer, (offset, shape) in zip(self._inputs, slot["inputs"], strict=True):
            device.copy_in(self._part(offset, math.prod(shape)), buffer)
        self._poison()
        self._program.launch(self._launch, *self._arguments)
        device.synchronise()
        for buffer, (offset, shape) in zip(self._inputs, slot["inputs"], strict=True):
            device.copy_out(buffer, self._part(offset, math.prod(shape)))
        device.copy_out(self._out, self._part(slot["out"][0], self._count + GUARD))

    def _time(self, request: dict[str, Any]) -> dict[str, Any]:
        """Warm and cold times of launches on what the last call left on the device."""
        device = self._device
        with device.on():
            right, wrong = self._result(), [0]
            if self._flush is None:
                self._flush = Flush(device)
            flush = self._flush

            def between() -> None:
                # Before each cold launch, and after the one before: untimed.
                wrong[0] += not np.array_equal(self._result(), right)
                self._poison()
                flush()

            def launch() -> None:
                self._program.launch(self._launch, *self._arguments)

            work = dataclasses.replace(work_of(device, launch, flush), flush=between)
            timing: GpuTiming = in_turns({"": work}, read=sensors(device))[""]
            wrong[0] += not np.array_equal(self._result(), right)
            used = self._program.resources(self._launch)
        return {
            **json.loads(json.dumps(dataclasses.asdict(timing))),
            "wrong": wrong[0],
            "resources": dataclasses.asdict(used),
        }

    def _result(self) -> Any:
        found = np.empty(self._count, np.uint32)
        self._device.copy_out(self._out, found)
        return found

    def _poison(self) -> None:
        self._device.copy_in(np.full(self._count + GUARD, POISON, np.uint32), self._out)

    def _part(self, offset: int, count: int) -> Any:
        return self._floats[offset // 4 : offset // 4 + count]


def compile_text(device: Any, text: str, function: str, macros: dict[str, int | str]) -> Any:
    """A text as it stands, without our prelude, for a device.  Raises `CompileFailure`."""
    if isinstance(device, OpenclDevice):
        return device.compile(text, macros, plain=True)
    from rooftile.devices.cuda.device import CudaProgram

    code = compile_cuda(text, function, macros, device.description.architecture)
    assert isinstance(device, CudaDevice)
    return CudaProgram(device, code)


def compile_cuda(text: str, function: str, macros: dict[str, int | str], architecture: str) -> Any:
    """Machine code by NVRTC, which needs no GPU.  ``function`` may be a template's instance, such
    as ``tile<16>``.  Raises `CompileFailure`."""
    from rooftile.devices.cuda.compile import cuda_core

    core = cuda_core()
    options = core.ProgramOptions(arch=architecture, std="c++17", include_path=_headers())
    try:
        program = core.Program(macro_lines(macros) + text, "c++", options)
        return program.compile("cubin", name_expressions=(function,))
    except Exception as error:
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
    limit_process(int(sys.argv[3]))
    TextWorker(int(sys.argv[1]), int(sys.argv[2])).serve()
