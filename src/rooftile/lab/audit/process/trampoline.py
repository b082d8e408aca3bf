"""Calls a stranger's Python kernel when it is asked to; this runs in the stranger's process.

It holds nothing of the judge's: no clock, no phase, no reference, no seed, and nothing of
rooftile.  It is told which sets of arrays to call the kernel on, calls it, copies results to where
they are looked for, and says that it is done.  Whatever it says may have been said by the kernel.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import mmap
import statistics
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CLOCKS = (
    (time, ("perf_counter", "perf_counter_ns", "monotonic", "time", "process_time")),
    (statistics, ("median", "mean")),
)


class CannotCall(Exception):
    """The kernel cannot be called as it is; the judge's user is told."""


_Told = tuple[str, str, tuple[float, ...]]
"""An answer: its kind, its text, its numbers."""


class Trampoline:
    """Serves requests."""

    def __init__(self, channel: Any, arena: int) -> None:
        self._channel = channel
        self._arena = mmap.mmap(arena, 0) if arena >= 0 else None

    def serve(self) -> None:
        """Answer requests until there are no more."""
        for request in self._channel.requests():
            try:
                kind, text, numbers = getattr(self, f"_{request['do']}")(request)
            except CannotCall as error:
                kind, text, numbers = "usage", str(error), ()
            except SystemExit as error:
                kind, text, numbers = "exit", f"it ended the process with {error.code!r}", ()
            except BaseException as error:
                # Whatever a stranger's code raises is a finding, not a fault of ours.
                kind = "refuses" if isinstance(error, NotImplementedError) else "raised"
                text, numbers = f"{type(error).__name__}: {error}"[:500], ()
            self._channel.answer(kind, text, numbers)

    def _load(self, request: dict[str, Any]) -> _Told:
        path = Path(request["file"])
        sys.path[0] = str(path.parent)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise CannotCall(f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        function = getattr(module, request["function"], None)
        if not callable(function):
            raise CannotCall(f"{path.name} has no function {request['function']!r}")
        self._function: Callable[..., Any] = function
        arrays = sibling("worker_arrays")
        kind = request["arrays"] if request["arrays"] != "auto" else _kind(module, request)
        driver = None if request["device"] == "cpu" else sibling("worker_driver").Driver
        self._library = arrays.library(kind, request, self._arena, driver)
        return "done", kind, ()

    def _arrays(self, request: dict[str, Any]) -> _Told:
        make, slots = self._library.array, request["slots"]
        for _, _, dtype in (*slots[0]["given"], *slots[0]["outs"]):
            if not self._library.has(dtype):
                raise CannotCall(f"{self._library.name} has no {dtype}")
        self._slots = [
            ([make(*one) for one in slot["given"]], tuple(make(*one) for one in slot["outs"]))
            for slot in slots
        ]
        self._outputs = request["outputs"]
        self._given = _keywords(self._function, request)
        self._written = [self._asked_for(outs) for _, outs in self._slots]
        return "done", "", ()

    def _asked_for(self, outs: tuple[Any, ...]) -> dict[str, Any]:
        """The outputs that the function takes: each by its own name, or all of them as ``out``."""
        named = {"out": outs if len(outs) > 1 else outs[0]}
        named.update(zip(self._outputs, outs, strict=True))
        return {name: array for name, array in named.items() if name in self._given}

    def _scrub(self, request: dict[str, Any]) -> _Told:
        """Leave poison in the memory that the kernel's next allocations will get."""
        for out in self._slots[0][1]:
            self._library.scrub(math.prod(out.shape) * out.dtype.itemsize)
        return "done", "", ()

    def _run(self, request: dict[str, Any]) -> _Told:
        behind = request.get("behind")
        if behind is not None:
            self._library.delay(self._slots[behind][0], self._slots[request["slots"][0]][0])
        self._library.start()
        strange = None
        for index in request["slots"]:
            strange = self._call(index, behind, bool(request.get("wait"))) or strange
        clocks = tuple(self._library.stop().values())
        return (strange["kind"], strange["what"], clocks) if strange else ("done", "", clocks)

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

    def _profile(self, request: dict[str, Any]) -> _Told:
        """The arrays' library's report on its own operations in one call."""
        return "done", "\n".join(self._library.operations(self._call)), ()

    def _tell(self, request: dict[str, Any]) -> _Told:
        """The clocks that are no longer the standard library's own."""
        changed = [
            f"{module.__name__}.{name}"
            for module, names in _CLOCKS
            for name in names
            if not _is_own(module, getattr(module, name))
        ]
        return "done", "\n".join([*changed, *self._library.changed_timers()]), ()


def _is_own(module: types.ModuleType, item: Any) -> bool:
    if module is time:
        return isinstance(item, types.BuiltinFunctionType) and item.__module__ == "time"
    return getattr(getattr(item, "__code__", None), "co_filename", "") == module.__file__


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
            raise CannotCall(
                f"the function must take {len(names)} arrays first: {', '.join(names)}"
            )
    given = {p.name: known[p.name] for p in parameters if p.name in known}
    missing = [
        p.name
        for p in parameters
        if p.name not in known and p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    if missing:
        raise CannotCall(f"nothing of the problem is called {missing}; it has {sorted(known)}")
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


def sibling(name: str) -> types.ModuleType:
    """A module next to this one, by its path: the package around it cannot be seen from here."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    memory, go, done, arena = map(int, sys.argv[1:5])
    # Where the system cannot hide it, an import at least fails with a sentence.
    sys.modules["rooftile"] = None  # type: ignore[assignment]
    Trampoline(sibling("channel").Channel(memory, go, done), arena).serve()
