"""Do threads of a kernel's text race?  Two detectors look, as far as there are any.

The host's emulation runs the text with a fiber for each thread of a block, and ThreadSanitizer sees
accesses of one place that no barrier parts (`rooftile.lab.emulation`).  Where the kernel's device
is an NVIDIA GPU and compute-sanitizer is installed, its racecheck watches shared memory in a launch
there.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rooftile.devices.gpu import macro_lines
from rooftile.errors import InputError
from rooftile.lab.audit.findings import Findings
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.emulation import Finding, NotCompiled, missing, run, unwritten
from rooftile.ops import Problem

_MOST_FLOPS = 10**7
"""FLOPs of the largest problem that is emulated; a thread's step takes some 100 ns."""
_TOOL = "compute-sanitizer"
_RACED = 9
"""The exit code that the tool is asked for where it has found a race."""
_CHILD = Path(__file__).with_name("worker_race.py")
_ACCESS = re.compile(r"\b(previous )?(?:atomic )?(read|write) of size (\d+)", re.IGNORECASE)


def look_for_races(kernel: Foreign, problem: Problem, findings: Findings, limit_s: float) -> None:
    """Note what the detectors find in launches for a problem."""
    assert kernel.launch is not None
    try:
        launch = kernel.launch.launch(kernel.function, problem)
        macros, arguments = kernel.launch.macros(problem), kernel.launch.arguments(problem)
    except InputError:
        # Whoever lays out the arrays says what is wrong with the line.
        return
    values = dict(zip((a.name for a in problem.given_arrays), problem.random(0), strict=True))
    for output in problem.output_arrays:
        values[output.name] = unwritten(output.nbytes).view(output.numpy).reshape(output.shape)
    with tempfile.TemporaryDirectory() as folder:
        given = (kernel, macros, launch, arguments, values, Path(folder))
        found = [_emulated(problem, *given, limit_s), _on_gpu(*given, limit_s)]
    raced = [text for status, text in found if status == "failed"]
    looked = [text for status, text in found if status == "passed"]
    if raced:
        findings.failed("races", "; ".join(raced))
    elif looked:
        findings.passed("races", "; ".join(looked))
    else:
        findings.skipped("races", "; ".join(text for _, text in found))


def _emulated(
    problem: Problem,
    kernel: Foreign,
    macros: dict[str, int | str],
    launch: Any,
    arguments: list[str | int],
    values: dict[str, Any],
    folder: Path,
    limit_s: float,
) -> tuple[str, str]:
    """What ThreadSanitizer says of the text on the host."""
    if missing():
        return "skipped", f"the host has {missing()}"
    if problem.flops > _MOST_FLOPS:
        return "skipped", f"{problem.flops} FLOPs are too many to emulate"
    text = macro_lines(macros) + kernel.path.read_text(encoding="utf-8")
    arrays = folder / "arrays"
    arrays.mkdir()
    try:
        run(
            text, (kernel.path.parent,), [(launch, arguments)], values, arrays,
            sanitizer="thread", opencl=kernel.path.suffix == ".cl", limit_s=limit_s,
        )  # fmt: skip
    except NotCompiled as error:
        lines = [line for line in str(error).splitlines() if "error" in line]
        return "skipped", f"the host's compiler does not take it: {(lines or ['?'])[0][-200:]}"
    except NotImplementedError as error:
        return "skipped", f"the host has nothing like {str(error)[:100]}"
    except Finding as finding:
        return _named(str(finding), problem)
    return "passed", f"emulated on the host, as {problem}"


def _named(said: str, problem: Problem) -> tuple[str, str]:
    """What a program's end means."""
    if "data race" in said:
        words = [
            f"a {(before or '').lower()}{what.lower()} of {size} bytes"
            for before, what, size in _ACCESS.findall(said)[:2]
        ]
        return "failed", f"{' and '.join(words)} at one place, no barrier between, as {problem}"
    if "wait for each other" in said:
        return "failed", f"threads wait at a barrier that others never reach, as {problem}"
    return "skipped", f"emulated, it ended early: {said.strip().splitlines()[-1][-200:]}"


def _on_gpu(
    kernel: Foreign,
    macros: dict[str, int | str],
    launch: Any,
    arguments: list[str | int],
    values: dict[str, Any],
    folder: Path,
    limit_s: float,
) -> tuple[str, str]:
    """What racecheck says of a launch on the kernel's own GPU."""
    if kernel.kind != "cuda" or shutil.which(_TOOL) is None:
        return "skipped", f"no NVIDIA GPU with {_TOOL} is asked for"
    for name, array in values.items():
        array.tofile(folder / name)
    request = {
        "file": str(kernel.path), "function": kernel.function, "device": kernel.device,
        "macros": macros, "launch": dataclasses.asdict(launch), "arguments": arguments,
        "folder": str(folder), "arrays": list(values),
    }  # fmt: skip
    command = [_TOOL, "--tool", "racecheck", "--error-exitcode", str(_RACED)]
    try:
        done = subprocess.run(
            [*command, sys.executable, str(_CHILD), json.dumps(request)],
            capture_output=True,
            text=True,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        return "skipped", f"{_TOOL} took more than {limit_s:g} s"
    if done.returncode == _RACED:
        lines = [line for line in done.stdout.splitlines() if "hazard" in line.lower()]
        return "failed", f"racecheck: {(lines or ['a hazard'])[0].strip('= ')[:200]}"
    if done.returncode:
        return "skipped", f"{_TOOL} ended with {done.returncode}"
    return "passed", "racecheck found no hazard on the GPU"
