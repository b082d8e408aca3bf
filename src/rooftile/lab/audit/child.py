"""The process under audit, as the judge sees it: asked, timed, and frozen in between.

Whenever no answer is awaited, every thread of the process is stopped by a signal that it
cannot catch.  So what it has not done when it answers stays undone, and it cannot look at
inputs before the clock runs.  The clock is the judge's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LONGEST = 2**20
"""Most bytes of an answer; a longer one is nonsense."""
_NOISE = 2000
"""Characters of the kernel's own output that are kept."""


class Died(Exception):
    """The process ended, hung or spoke nonsense; the message is a clause that says how."""


class Complained(Exception):
    """It answered with an error."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.kind = str(answer.get("error"))
        self.what = str(answer.get("what", ""))[:1000]
        super().__init__(self.what)


class Child:
    """One process that serves requests; frozen except while it is asked."""

    def __init__(self, script: Path, fd: int, memory: int, limit_s: float) -> None:
        ours, theirs = socket.socketpair()
        self._socket, self._limit_s, self._frozen = ours, limit_s, False
        self._buffer = b""
        command = [sys.executable, str(script), str(theirs.fileno()), str(fd), str(memory)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[theirs.fileno(), *([fd] if fd >= 0 else [])],
            start_new_session=True,
            env={**os.environ, **_ENVIRONMENT},
        )
        theirs.close()
        self.pid = self._process.pid
        self._heard: list[bytes] = [b""]
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.freeze()

    @property
    def noise(self) -> str:
        """The end of what the kernel printed."""
        return self._heard[0].decode(errors="replace").strip()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer; its ``wall_s`` is the seconds from thawing the process until it was here.

        Raises `Died`, `Complained`.
        """
        return self.collect(self.begin(request))

    def begin(self, request: dict[str, Any]) -> float:
        """Hand over a request, thaw the process, and return the time.  Raises `Died`."""
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            raise Died(self._ending()) from None
        start = time.perf_counter()
        self.thaw()
        return start

    def collect(self, start: float = 0.0) -> dict[str, Any]:
        """The answer to a request that was begun at the time ``start``, as `ask` gives it."""
        try:
            answer = self._answer()
            answer["wall_s"] = time.perf_counter() - start
        finally:
            self.freeze()
        if "error" in answer:
            raise Complained(answer)
        return answer

    def answered(self, seconds: float) -> bool:
        """Wait for an answer; whether there is one, or the process has ended."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def thaw(self) -> None:
        """Let it run."""
        self._frozen = False
        self._signal(signal.SIGCONT)

    def freeze(self) -> None:
        """Stop every thread of it, and return when they stand."""
        if self._frozen or self._process.returncode is not None:
            return
        self._frozen = True
        self._signal(signal.SIGSTOP)
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if found is not None and found.si_code in (os.CLD_STOPPED, os.CLD_TRAPPED):
            # This takes note of a stop; an end is left to be reaped.
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def close(self) -> None:
        """End it."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._socket.close()
        self._listener.join(1)
        if self._process.stdout is not None and not self._listener.is_alive():
            self._process.stdout.close()

    def _answer(self) -> dict[str, Any]:
        end = time.monotonic() + self._limit_s
        while b"\n" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not self.answered(left):
                raise Died(f"did not answer within {self._limit_s:g} s")
            try:
                part = self._socket.recv(65536)
            except OSError:
                part = b""
            if not part:
                raise Died(self._ending())
            self._buffer += part
            if len(self._buffer) > _LONGEST:
                raise Died("answered with something that is no answer")
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            raise Died("answered with something that is no answer") from None
        if not isinstance(answer, dict):
            raise Died("answered with something that is no answer")
        return answer

    def _ending(self) -> str:
        """How it ended."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "closed the connection to the judge"
        self._frozen = True
        if code < 0:
            return f"crashed: it was killed by {signal.Signals(-code).name}"
        return f"ended its process with exit code {code}"

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.returncode is None:
                os.killpg(self.pid, number)

    def _listen(self) -> None:
        """Keep the end of what it prints; unread, a full pipe would hang it."""
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while part := os.read(stream.fileno(), 65536):
                self._heard[0] = (self._heard[0] + part)[-_NOISE:]


def memory_limit() -> int:
    """Bytes of private memory that a kernel may have: four fifths of the machine's."""
    return int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def running_libraries(pid: int) -> Sequence[str]:
    """The files whose code the threads of a frozen process were running; threads that waited are
    left out.

    They are read from outside, so nothing in the process can hide them.  Raises `OSError` where
    the system does not let one process look at another.
    """
    regions = []
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        parts = line.split(maxsplit=5)
        if "x" in parts[1] and len(parts) == 6:
            first, last = (int(end, 16) for end in parts[0].split("-"))
            regions.append((first, last, parts[5]))
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        words = (task / "syscall").read_text(encoding="ascii").split()
        if words and words[0] == "-1":
            counter = int(words[-1], 16)
            found += [name for first, last, name in regions if first <= counter < last]
    return found


_ENVIRONMENT = {
    # Large arrays then come from the heap, so that a kernel allocates poisoned memory.
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    # A pool of compiling processes would count as work in other processes.
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "PYTHONUNBUFFERED": "1",
}
