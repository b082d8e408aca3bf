"""The process under audit, as the judge sees it: asked, timed, and frozen in between.

Whenever no answer is awaited, every thread of the process and of those that it started stands: a
control group's freezer stops it, or a signal that it cannot catch.  So what it has not done when it
answers stays undone, and it cannot look at inputs before the clock runs.  The clock is the judge's
own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rooftile.lab.audit.findings import plain_lines, plain_words
from rooftile.lab.audit.isolation.freezer import Freezer, Group, Signals
from rooftile.lab.audit.isolation.processes import (
    only_child,
    resident_bytes,
    signal_to,
    state_of,
    tree_of,
)
from rooftile.lab.audit.isolation.supervised import (
    MOST_NOISE,
    MOST_PROCESSES,
    SCRIPTS,
    Supervised,
    told_code,
)
from rooftile.lab.audit.process.channel import BYTES, ERRORS, Answer, put_request, take_answer

_NOISE = 2000
"""Characters of the kernel's own output that are kept."""
_LOOK_S = 0.25
"""Seconds from one look at a process that does not answer to the next."""
_STANDS_S = 5.0
"""Seconds in which every thread must have stopped."""


class Died(Exception):
    """The process ended, hung or spoke nonsense; the message is a clause that says how."""


class Complained(Exception):
    """It answered with an error."""

    def __init__(self, kind: str, what: str) -> None:
        self.kind = kind
        self.what = plain_words(what)[:1000]
        super().__init__(self.what)


@dataclass(frozen=True)
class Isolation:
    """The isolation of a process, as far as the machine provides it."""

    in_force: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    """Why the others are not."""

    def __str__(self) -> str:
        lacking = [f"no {name} ({why})" for name, why in self.missing.items()]
        return "; ".join([", ".join(self.in_force) or "none", *lacking])


class Child:
    """One process that serves requests; frozen except while it is asked."""

    def __init__(
        self,
        script: str,
        arena: int,
        memory: int,
        limit_s: float,
        hide: Sequence[Path] | None = None,
        gpu: bool = False,
    ) -> None:
        """``limit_s`` is what it may take for all that it is asked.  ``hide``: what a stranger's
        process must not see; None for one that runs our code, and is not isolated.  ``gpu``:
        whether it is given a GPU's memory."""
        self._limit_s, self._spent_s, self._frozen, self._ended = limit_s, 0.0, False, ""
        self._memory_limit = memory
        self._control = os.memfd_create("rooftile-audit", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self._control, BYTES)
        seal(self._control)
        self._memory = mmap.mmap(self._control, BYTES)
        self._late = False
        self.others = 0
        """Number of processes that it had started and not ended when it last answered."""
        self._gpu = gpu
        self._started = self._start(script, arena, hide)
        self._heard: list[bytes] = [b""]
        self._loudness = 0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        told = self._arrived()
        self.pid = only_child(only_child(self._started.process.pid))
        self._freezer = self._stopped_by(told)
        self.isolation = Isolation(tuple(told["in_force"]), told["missing"])
        self.freeze()

    def _start(self, script: str, arena: int, hide: Sequence[Path] | None) -> Supervised:
        (go, self._go), (self._done, done) = os.pipe(), os.pipe()
        os.set_blocking(self._done, False)
        files = [self._control, go, done, *([arena] if arena >= 0 else [])]
        command = [sys.executable, str(SCRIPTS / script), *map(str, (*files[:3], arena))]
        started = Supervised(command, self._memory_limit, hide, files, self._gpu)
        os.close(go)
        os.close(done)
        return started

    @property
    def noise(self) -> str:
        """The end of what the kernel printed."""
        return plain_lines(self._heard[0].decode(errors="replace").strip())

    def ask(self, request: dict[str, Any]) -> tuple[Answer, float]:
        """The answer, and the seconds from thawing the process until it was here. Raises `Died`,
        `Complained`."""
        return self.collect(self.begin(request))

    def begin(self, request: dict[str, Any]) -> float:
        """Hand over a request, thaw the process, and return the time.  Raises `Died`."""
        if self._drained() and not self._late:
            raise Died("answered before it was asked")
        self._late = False
        put_request(self._memory, request)
        try:
            os.write(self._go, b".")
        except OSError:
            raise Died(self._ending()) from None
        start = time.perf_counter()
        # Many threads take long to thaw as well.
        self._asked = time.monotonic()
        self._thaw()
        return start

    def collect(self, start: float = 0.0) -> tuple[Answer, float]:
        """The answer to a request that was begun at the time ``start``, as `ask` gives it."""
        try:
            self._await()
            seconds = time.perf_counter() - start
        finally:
            self.freeze()
            # Until all of its threads stand is its time as well.
            self._spent_s += time.monotonic() - self._asked
        try:
            answer = take_answer(self._memory)
        except ValueError:
            raise Died("answered with something that is no answer") from None
        if answer.kind in ERRORS:
            raise Complained(answer.kind, answer.text)
        return answer, seconds

    def answered(self, seconds: float) -> bool:
        """Wait for an answer; whether there is one, or the process has ended."""
        return bool(select.select([self._done, self._started.report], [], [], seconds)[0])

    def thaw(self) -> None:
        """Let it run unasked; what it had still to say of the last request may come now."""
        self._late = True
        self._thaw()

    def go_on(self) -> None:
        """Let it go on with what it was asked."""
        self._thaw()

    def _thaw(self) -> None:
        self._frozen = False
        self._freezer.thaw()

    def freeze(self) -> None:
        """Stop every thread of it and of its processes, and return when they stand. Raises `Died`
        where they do not."""
        if self._frozen or self._ended:
            return
        self._frozen = True
        if not self._freezer.freeze(_STANDS_S):
            raise self._killed(f"did not stand {_STANDS_S:g} s after it was told to stop")
        living = [pid for pid in tree_of(self.pid) if state_of(pid) not in "ZX"]
        self.others = len(living) - (self.pid in living)
        # Shared memory is in no limit that the system has for a process.
        if self._memory_limit and sum(map(resident_bytes, living)) > self._memory_limit:
            raise self._killed(f"had more than {self._memory_limit >> 20} MiB of memory in use")

    def _killed(self, why: str) -> Died:
        """End it for a reason."""
        signal_to(self.pid, signal.SIGKILL)
        self._ended = why
        return Died(why)

    def close(self) -> None:
        """End it, and all that it started."""
        os.close(self._go)
        self._started.end()
        os.close(self._done)
        self._started.close()
        self._freezer.close()
        self._memory.close()
        os.close(self._control)
        self._listener.join(1)
        output = self._started.process.stdout
        if output is not None and not self._listener.is_alive():
            output.close()

    def _arrived(self) -> dict[str, Any]:
        """The supervisor's report before any stranger's code runs."""
        line = b""
        while not line.endswith(b"\n"):
            part = os.read(self._started.report, 1)
            if not part:
                raise RuntimeError(f"the supervisor did not start: {self.noise}")
            line += part
        told: dict[str, Any] = json.loads(line)
        return told

    def _stopped_by(self, told: dict[str, Any]) -> Freezer:
        """The control group that the supervisor made, with the process in it; else signals."""
        if told["cgroup"]:
            try:
                made = Group(told["cgroup"], self.pid)
            except OSError as error:
                told["missing"]["cgroup freezer"] = error.strerror
            else:
                told["in_force"].append("cgroup freezer")
                return made
        return Signals(self.pid)

    def _await(self) -> None:
        """Wait for one byte.  Raises `Died`."""
        end = self._asked + self._limit_s - self._spent_s
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise Died(f"did not answer within {self._limit_s:g} s, all requests together")
            if self.answered(min(left, _LOOK_S)):
                if self._drained():
                    return
                raise Died(self._ending())
            if self._loudness > MOST_NOISE:
                raise Died(f"printed more than {MOST_NOISE >> 20} MiB")
            tree = tree_of(self.pid)
            if len(tree) > MOST_PROCESSES:
                raise Died(f"had {len(tree)} processes")
            if state_of(self.pid) in "Tt":
                raise Died("stopped itself with a signal")

    def _drained(self) -> bool:
        """Take what is in the pipe of answers; whether there was something."""
        try:
            return bool(os.read(self._done, 65536))
        except BlockingIOError:
            return False

    def _ending(self) -> str:
        """The process's end, in words."""
        if self._ended:
            return self._ended
        if not select.select([self._started.report], [], [], 5)[0]:
            return "closed the connection to the judge"
        code = told_code(self._started.report)
        self._ended = (
            f"crashed: it was killed by {signal.Signals(-code).name}"
            if code < 0
            else f"ended its process with exit code {code}"
        )
        return self._ended

    def _listen(self) -> None:
        """Keep the end of what it prints; unread, a full pipe would hang it."""
        stream = self._started.process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while part := os.read(stream.fileno(), 65536):
                self._loudness += len(part)
                self._heard[0] = (self._heard[0] + part)[-_NOISE:]


def seal(file: int) -> None:
    """Fix the size of shared memory: a process that maps it would crash if another one cut it."""
    fcntl.fcntl(
        file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    )


def memory_limit() -> int:
    """Bytes of private memory that a kernel may have: four fifths of the machine's."""
    return int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
