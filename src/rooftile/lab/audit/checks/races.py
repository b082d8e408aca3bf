"""Do threads of a kernel's text race?  Two detectors look, as far as there are any.

The host's emulation runs the text with a fiber for each thread of a block, and ThreadSanitizer sees
accesses of one place that no barrier parts (`rooftile.lab.emulation`).  There the text is a program
like any other, so it is compiled and run behind the walls that a Python kernel has.  Where the
kernel's device is an NVIDIA GPU and compute-sanitizer is installed, its racecheck watches shared
memory in a launch there.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from rooftile.errors import InputError
from rooftile.lab.audit.findings import Findings, plain_lines, plain_words
from rooftile.lab.audit.isolation.supervised import SCRIPTS, output_of
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.process.child import memory_limit
from rooftile.lab.audit.process.worker_emulated import NOT_COMPILED, NOT_EMULATED
from rooftile.lab.emulation import missing, shim, unwritten
from rooftile.lab.judge.exam import as_bytes
from rooftile.ops import AnyArray, Problem

_MOST_FLOPS = 10**7
"""FLOPs of the largest problem that is emulated; a thread's step takes some 100 ns."""
_TOOL = "compute-sanitizer"
_RACED = 9
"""The exit code that the tool is asked for where it has found a race."""
_PLACE = re.compile(r"#0 text::.*?([^\s/]+\.c[lu]):(\d+)")
_ACCESS = re.compile(r"\b(previous )?(?:atomic )?(read|write) of size (\d+)", re.IGNORECASE)


def look_for_races(kernel: Foreign, problem: Problem, findings: Findings, limit_s: float) -> None:
    """Note what the detectors find in launches for a problem."""
    assert kernel.launch is not None
    try:
        launch = kernel.launch.launch(kernel.function, problem)
        macros, arguments = kernel.launch.macros(problem), kernel.launch.arguments(problem)
    except InputError:
        # The layout of the arrays raises the error of the line.
        return
    values = dict(zip((a.name for a in problem.given_arrays), problem.random(0), strict=True))
    for output in problem.output_arrays:
        values[output.name] = unwritten(output.nbytes).view(output.numpy).reshape(output.shape)
    request = {
        "file": str(kernel.path), "function": kernel.function, "device": kernel.device,
        "macros": macros, "launch": dataclasses.asdict(launch), "arguments": arguments,
        "limit_s": limit_s, "arrays": {one.name: (one.dtype, one.shape) for one in problem.arrays},
    }  # fmt: skip
    found = [_emulated(problem, request, values), _on_gpu(kernel, request, values)]
    raced = [text for status, text in found if status == "failed"]
    looked = [text for status, text in found if status == "passed"]
    if raced:
        findings.failed("races", "; ".join(raced))
    elif looked:
        findings.passed("races", "; ".join(looked))
    else:
        findings.skipped("races", "; ".join(text for _, text in found))


def _emulated(
    problem: Problem, request: dict[str, Any], values: Mapping[str, AnyArray]
) -> tuple[str, str]:
    """ThreadSanitizer's report on the text on the host, in isolation."""
    if missing():
        return "skipped", f"the host has {missing()}"
    if problem.flops > _MOST_FLOPS:
        return "skipped", f"{problem.flops} FLOPs are too many to emulate"
    with _handed({**request, "header": str(shim("lines"))}, values) as file:
        command = [sys.executable, str(SCRIPTS / "worker_emulated.py"), str(file)]
        code, said = output_of(command, request["limit_s"], memory_limit(), [file])
    said = plain_lines(said)
    if code == NOT_COMPILED:
        lines = [line for line in said.splitlines() if "error" in line]
        return "skipped", f"the host's compiler does not take it: {(lines or ['?'])[0][-200:]}"
    if code == NOT_EMULATED:
        return "skipped", f"the host has nothing like {said.strip()[:100]}"
    if code:
        return _named(said, problem)
    return "passed", f"emulated on the host, as {problem}"


def _named(said: str, problem: Problem) -> tuple[str, str]:
    """The meaning of a program's end."""
    if "data race" in said:
        words = [
            f"a {(before or '').lower()}{what.lower()} of {size} bytes"
            for before, what, size in _ACCESS.findall(said)[:2]
        ]
        lines = [f"line {line} of {file}" for file, line in _PLACE.findall(said)[:2]]
        where = f" ({' and '.join(dict.fromkeys(lines))})" if lines else ""
        return (
            "failed",
            f"{' and '.join(words)} at one place{where}, no barrier between, as {problem}",
        )
    if "wait for each other" in said:
        return "failed", f"threads wait at a barrier that others never reach, as {problem}"
    last = (said.strip() or "it was killed").splitlines()[-1]
    return "skipped", f"emulated, it ended early: {last[-200:]}"


def _on_gpu(
    kernel: Foreign, request: dict[str, Any], values: Mapping[str, AnyArray]
) -> tuple[str, str]:
    """racecheck's report on a launch on the kernel's own GPU."""
    path = shutil.which(_TOOL)
    if kernel.kind != "cuda" or path is None:
        return "skipped", f"no NVIDIA GPU with {_TOOL} is asked for"
    tool = [path, "--tool", "racecheck", "--error-exitcode", str(_RACED)]
    with _handed(request, values) as file:
        command = [*tool, sys.executable, str(SCRIPTS / "worker_race.py"), str(file)]
        code, said = output_of(command, request["limit_s"], memory_limit(), [file], walls=False)
    if code == _RACED:
        lines = [line for line in said.splitlines() if "hazard" in line.lower()]
        return "failed", plain_words(f"racecheck: {(lines or ['a hazard'])[0].strip('= ')[:200]}")
    if code:
        return "skipped", f"{_TOOL} ended with {code}"
    return "passed", "racecheck found no hazard on the GPU"


@contextmanager
def _handed(request: dict[str, Any], values: Mapping[str, AnyArray]) -> Iterator[int]:
    """A file in memory with a request and its arrays' bytes: none is left when the judge is
    killed."""
    held: dict[str, Any] = {name: as_bytes(array) for name, array in values.items()}
    held["a request"] = np.frombuffer(json.dumps(request).encode(), np.uint8)
    with os.fdopen(os.memfd_create("rooftile-races", os.MFD_CLOEXEC), "wb") as file:
        np.savez(file, **held)
        file.flush()
        yield file.fileno()
