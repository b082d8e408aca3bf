"""A command under the supervisor: it and all that it starts end with the process that started
it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rooftile.lab.audit.isolation.processes import resident_bytes, tree_of

_HERE = Path(__file__).parent
SCRIPTS = _HERE.parent / "process"
"""The folder of the scripts that foreign processes run."""
_MODULES = (
    "trampoline.py",
    "channel.py",
    "worker_arrays.py",
    "worker_driver.py",
    "worker_opencl.py",
)
"""Our modules that a stranger's process needs, where it cannot see our folder."""
MOST_NOISE = 16 * 2**20
"""Bytes that a command may print."""
MOST_PROCESSES = 200
"""More of them at a time are an attack on the machine."""
_LOOK_S = 0.1
"""Seconds from one look at a command to the next."""


class Supervised:
    """A supervisor with its command."""

    def __init__(
        self,
        command: Sequence[str],
        memory: int,
        hide: Sequence[Path] | None,
        files: Sequence[int] = (),
        gpu: bool = False,
    ) -> None:
        """``hide``: what the command must not see; None where it is not isolated.  ``files`` are
        those that it is given, and ``memory`` the bytes that it may have, 0 for any number."""
        isolate = hide is not None
        (self.report, report), (life, self._life) = os.pipe(), os.pipe()
        plan = {
            "isolate": isolate,
            "gpu": gpu,
            "hide": [str(path) for path in hide or ()],
            "memory": memory,
            "files": list(files),
            "report": report,
            "life": life,
            "environment": environment(isolate),
            "command": list(command),
            "modules": [(name, (SCRIPTS / name).read_text(encoding="utf-8")) for name in _MODULES]
            if hide
            else [],
        }
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-E", str(_HERE / "supervisor.py"), json.dumps(plan)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[*files, report, life],
            start_new_session=True,
        )
        os.close(report)
        os.close(life)

    def end(self) -> None:
        """End it: with the pipe that the supervisor watches, everything ends."""
        os.close(self._life)
        self.process.wait()

    def close(self) -> None:
        """Close what is left when it has ended."""
        os.close(self.report)


def told_code(report: int) -> int:
    """The code with which a command ended, as its supervisor reports it; a signal is negative."""
    told = os.read(report, 64).strip()
    return int(told) if told.lstrip(b"-").isdigit() else -signal.SIGKILL


def output_of(
    command: Sequence[str],
    limit_s: float,
    memory: int,
    files: Sequence[int] = (),
    *,
    walls: bool = True,
) -> tuple[int, str]:
    """A command's output and its exit code.

    A command that takes longer, or more memory or processes than a stranger may have, is killed,
    and has the code of that signal.
    """
    started = Supervised(command, 0, () if walls else None, files)
    assert started.process.stdout is not None
    output, heard, end = started.process.stdout.fileno(), b"", time.monotonic() + limit_s
    while time.monotonic() < end and len(heard) <= MOST_NOISE:
        if select.select([output], [], [], _LOOK_S)[0]:
            part = os.read(output, 65536)
            if not part:
                break
            heard += part
        tree = tree_of(started.process.pid)
        if len(tree) > MOST_PROCESSES or sum(map(resident_bytes, tree)) > memory:
            break
    started.end()
    told = b""
    with contextlib.suppress(OSError):
        while part := os.read(started.report, 4096):
            told += part
    started.process.stdout.close()
    started.close()
    # The first line says which walls there are.
    code = told.partition(b"\n")[2].strip()
    return int(code) if code else -signal.SIGKILL, heard.decode(errors="replace")


_TOLD = (
    *("PATH", "HOME", "TMPDIR", "LANG", "LC_", "TZ", "LD_LIBRARY_PATH", "PYTHON", "VIRTUAL_ENV"),
    *("CUDA", "NVIDIA", "OCL_", "OPENCL_", "POCL_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_"),
    *("GOTO_", "BLIS_", "NUMBA_", "NUMEXPR_", "TORCH", "TRITON_", "MALLOC_"),
)
"""Beginnings of variables that loaders, Python, drivers and numerical libraries read."""


def environment(isolate: bool) -> dict[str, str]:
    """A process's environment; a stranger's has nothing that others keep in variables."""
    told = {
        name: value for name, value in os.environ.items() if not isolate or name.startswith(_TOLD)
    }
    # Large arrays then come from the heap, so that a kernel allocates poisoned memory.
    told["MALLOC_MMAP_THRESHOLD_"] = str(2**30)
    told["MALLOC_TRIM_THRESHOLD_"] = str(2**31 - 1)
    # A pool of compiling processes would count as work in other processes.
    told["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    told["PYTHONUNBUFFERED"] = "1"
    if isolate:
        told["PYTHONDONTWRITEBYTECODE"] = "1"
    return told
