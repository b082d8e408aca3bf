"""Runs a foreign Python kernel in a process of its own, for the judge in another.

This script imports nothing of rooftile: what the judge knows must not lie where the kernel
could read it.  Requests and answers are lines of JSON on a socket; arrays lie in memory that
both processes map.  Nothing here is trusted: the judge believes its own clock and the bytes
that it finds when it has frozen this process.
"""

from __future__ import annotations

import ctypes
import importlib.util
import inspect
import json
import math
import mmap
import os
import resource
import signal
import statistics
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_PROCESSES = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec")
_TIMERS: dict[str, tuple[Any, str]] = {
    f"{module.__name__}.{name}": (module, name)
    for module, names in (
        (time, ("perf_counter", "perf_counter_ns", "monotonic", "time", "process_time")),
        (statistics, ("median", "mean")),
    )
    for name in names
}
_GENUINE = {name: getattr(module, item) for name, (module, item) in _TIMERS.items()}


class Refused(Exception):
    """The kernel cannot be called as it is; the judge's user is told."""


class Witness:
    """What the interpreter reports of imports and processes; the hook stays for good."""

    def __init__(self) -> None:
        self.phase = "load"
        self.imports: set[str] = set()
        self.processes: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import":
            self.imports.add(str(arguments[0]))
        elif event in _PROCESSES:
            self.processes.append(f"{event} while {self.phase}")


class Worker:
    """Serves the judge's requests."""

    def __init__(self, channel: int, arena: int) -> None:
        self.witness = Witness()
        self._channel = os.fdopen(channel, "r+b", buffering=0)
        self._input = os.fdopen(os.dup(channel), "rb")
        self._arena = mmap.mmap(arena, 0) if arena >= 0 else None

    def serve(self) -> None:
        """Answer requests until the judge closes the channel."""
        for line in self._input:
            request = json.loads(line)
            self.witness.phase = str(request.get("phase", request["do"]))
            try:
                answer = getattr(self, f"_{request['do']}")(request)
            except Refused as error:
                answer = {"error": "usage", "what": str(error)}
            except SystemExit as error:
                answer = {"error": "exit", "what": f"it ended the process with {error.code!r}"}
            except BaseException as error:
                # Whatever a stranger's code raises is a finding, not a fault of ours.
                answer = {
                    "error": "refuses" if isinstance(error, NotImplementedError) else "raised",
                    "what": f"{type(error).__name__}: {error}"[:500],
                    "traceback": traceback.format_exc()[-2000:],
                }
            self._channel.write(json.dumps(answer).encode() + b"\n")

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        path = Path(request["file"])
        sys.path[0] = str(path.parent)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise Refused(f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        function = getattr(module, request["function"], None)
        if not callable(function):
            raise Refused(f"{path.name} has no function {request['function']!r}")
        self._function: Callable[..., Any] = function
        arrays = _sibling("worker_arrays")
        kind = request["arrays"] if request["arrays"] != "auto" else _kind(module, request)
        driver = None if request["device"] == "cpu" else _sibling("worker_driver").Driver
        self._library = arrays.library(kind, request, self._arena, driver)
        return {"arrays": kind}

    def _arrays(self, request: dict[str, Any]) -> dict[str, Any]:
        make, slots = self._library.array, request["slots"]
        for _, _, dtype in (*slots[0]["given"], *slots[0]["outs"]):
            if not self._library.has(dtype):
                raise Refused(f"{self._library.name} has no {dtype}")
        self._slots = [
            ([make(*one) for one in slot["given"]], tuple(make(*one) for one in slot["outs"]))
            for slot in slots
        ]
        self._outputs = request["outputs"]
        self._given = _keywords(self._function, request)
        self._written = [self._asked_for(outs) for _, outs in self._slots]
        return {"takes_out": bool(self._written[0])}

    def _asked_for(self, outs: tuple[Any, ...]) -> dict[str, Any]:
        """The outputs that the function takes: each by its own name, or all of them as ``out``."""
        named = {"out": outs if len(outs) > 1 else outs[0]}
        named.update(zip(self._outputs, outs, strict=True))
        return {name: array for name, array in named.items() if name in self._given}

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        behind = request.get("behind")
        if behind is not None:
            self._library.delay(self._slots[behind][0], self._slots[request["slots"][0]][0])
        if request.get("scrub"):
            for out in self._slots[0][1]:
                self._library.scrub(math.prod(out.shape) * out.dtype.itemsize)
        self._library.start()
        # Clocks are called by name, as a careless timer would: what the kernel replaced shows.
        start = time.perf_counter()
        strange = None
        for _ in range(request.get("repeat", 1)):
            for index in request["slots"]:
                strange = self._call(index, behind, bool(request.get("wait"))) or strange
        times = self._library.stop()
        return {"seconds": time.perf_counter() - start, "strange": strange, **times}

    def _call(
        self, index: int, behind: int | None = None, wait: bool = False
    ) -> dict[str, str] | None:
        given, outs = self._slots[index]
        self._given.update(self._written[index])
        made = self._function(*given, **self._given)
        if wait:
            self._library.stop()
        if made is None and self._written[index]:
            made = outs if len(outs) > 1 else outs[0]
        return self._deliver(made, outs if behind is None else self._slots[behind][1])

    def _deliver(self, made: Any, targets: tuple[Any, ...]) -> dict[str, str] | None:
        """Copy results to where the judge looks, and return what is strange about one of them."""
        results = (made,)
        if len(targets) > 1:
            if not isinstance(made, tuple | list) or len(made) != len(targets):
                what = f"a {type(made).__name__} instead of a tuple of {', '.join(self._outputs)}"
                return {"kind": "form", "what": what}
            results = tuple(made)
        strange = None
        for result, target in zip(results, targets, strict=True):
            if result is not target:
                strange = self._library.deliver(result, target) or strange
        return strange

    def _inspect(self, request: dict[str, Any]) -> dict[str, Any]:
        """Watch one call: which of rooftile's functions and PyTorch's operations it calls."""
        seen: set[str] = set()

        def watch(frame: types.FrameType, event: str, _: Any) -> None:
            name = frame.f_code.co_filename
            if event == "call" and f"{os.sep}rooftile{os.sep}" in name and name != __file__:
                seen.add(f"{name.rpartition('rooftile' + os.sep)[2]}:{frame.f_code.co_name}")

        threading.setprofile(watch)
        sys.setprofile(watch)
        try:
            self._call(0)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        here = str(Path(__file__).parent.name)
        called = sorted(name for name in seen if here not in name)
        return {"rooftile": called[:20], "operations": self._library.operations(self._call)}

    def _tell(self, request: dict[str, Any]) -> dict[str, Any]:
        changed = [
            name
            for name, (module, item) in _TIMERS.items()
            if getattr(module, item) is not _GENUINE[name]
        ]
        return {
            "imports": sorted({name.partition(".")[0] for name in self.witness.imports}),
            "processes": self.witness.processes,
            "timers": changed + self._library.changed_timers(),
        }


def _keywords(function: Callable[..., Any], request: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the function takes by name: outputs, ``problem``, sizes."""
    fields = {name: _plain(value) for name, value in request["fields"].items()}
    shape = request["output_shape"]
    shape = {n: tuple(s) for n, s in shape.items()} if isinstance(shape, dict) else tuple(shape)
    problem = types.SimpleNamespace(**fields, output_shape=shape)
    outputs = dict.fromkeys(("out", *request["outputs"]))
    known = {**fields, "problem": problem, **outputs}
    names = request["names"]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return {}  # A compiled callable does not tell, and gets the arrays alone.
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        parameters = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    else:
        arrays, parameters = parameters[: len(names)], parameters[len(names) :]
        if len(arrays) < len(names) or any(p.kind is p.KEYWORD_ONLY for p in arrays):
            raise Refused(f"the function must take {len(names)} arrays first: {', '.join(names)}")
    given = {p.name: known[p.name] for p in parameters if p.name in known}
    missing = [
        p.name
        for p in parameters
        if p.name not in known and p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    if missing:
        raise Refused(f"nothing of the problem is called {missing}; it has {sorted(known)}")
    return given


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return types.SimpleNamespace(**{name: _plain(item) for name, item in value.items()})
    return tuple(value) if isinstance(value, list) else value


def _kind(module: types.ModuleType, request: dict[str, Any]) -> str:
    """The library whose arrays a module that imports it will want."""
    for name in ("torch", "triton", "cupy"):
        if name in sys.modules and any(
            (getattr(value, "__name__", None) or "").partition(".")[0] == name
            for value in vars(module).values()
            if isinstance(value, types.ModuleType)
        ):
            return "torch" if name == "triton" else name
    if request["device"] == "cpu":
        return "numpy"
    return "torch" if importlib.util.find_spec("torch") else "cupy"


def _sibling(name: str) -> types.ModuleType:
    """A module beside this one, by its path: the package around it is not imported."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def limit_process(memory: int) -> None:
    """Die with the judge, leave no core, and get a `MemoryError` before the machine has none."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


if __name__ == "__main__":
    limit_process(int(sys.argv[3]))
    Worker(int(sys.argv[1]), int(sys.argv[2])).serve()
