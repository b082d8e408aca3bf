"""A child process that calls functions, and whose end ends nothing else.

OpenCL kernels of a CPU run in the process that starts them: one that writes beyond its arrays, or
a driver that miscompiles it, corrupts or ends that process.  The child is a fresh Python, since
threads of a driver do not survive a fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Self

Hear = Callable[[Any], None]
_PATIENCE_S = 5.0
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from rooftile.lab.measure.process import serve; serve(int(sys.argv[2]), int(sys.argv[3]))"
)


class Ended(Exception):
    """A child ended before it had answered; the message says by which signal or code."""


class CannotSend(Exception):
    """A child cannot import what it would be sent, such as a class of the ``__main__`` module."""


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    answers: IO[bytes]
    errors: IO[bytes]


class Child:
    """A process that starts at its first call, and again after it has ended."""

    def __init__(self) -> None:
        self._running: _Running | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def call(self, function: Callable[..., Any], *arguments: Any, hear: Hear) -> Any:
        """``function(say, *arguments)`` in the child; ``hear`` is given what it says meanwhile.
        Raises what the function raises, `Ended` where the child ends before it answers, and
        `CannotSend`."""
        try:
            request = pickle.dumps((function, arguments))
        except Exception as error:
            raise CannotSend(str(error)) from error
        child = self._running = self._running or _started()
        try:
            child.requests.write(request)
            child.requests.flush()
            while True:
                kind, value = pickle.load(child.answers)
                if kind == "said":
                    hear(value)
                elif kind == "made":
                    return value
                else:
                    raise value
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise Ended(self._ending()) from error
        except KeyboardInterrupt:
            self.close()
            raise

    def _ending(self) -> str:
        """The end of a child that no longer answers, in words."""
        assert self._running is not None
        child = self._running
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(_PATIENCE_S)
        code = child.process.poll()
        child.errors.seek(0)
        said = child.errors.read().decode(errors="replace").strip().splitlines()
        self.close()
        if code is None:
            return "it no longer answered"
        if code < 0:
            return f"by {signal.Signals(-code).name}"
        return f"with exit code {code}" + (f" ({said[-1]})" if said else "")

    def close(self) -> None:
        """End the process, if there is one."""
        child, self._running = self._running, None
        if child is None:
            return
        child.process.kill()
        child.process.wait()
        for file in (child.requests, child.answers, child.errors):
            with contextlib.suppress(OSError):
                file.close()


def _started() -> _Running:
    asked, ask = os.pipe()
    answered, answer = os.pipe()
    errors = tempfile.TemporaryFile()  # noqa: SIM115
    command = [sys.executable, "-c", _START, json.dumps(sys.path), str(asked), str(answer)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            pass_fds=(asked, answer),
        )
    finally:
        os.close(asked)
        os.close(answer)
    return _Running(process, os.fdopen(ask, "wb"), os.fdopen(answered, "rb"), errors)


def serve(asked: int, answer: int) -> None:
    """The child's part: answer until the parent closes its end."""
    # The parent hears of an interrupt too, and ends the child.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(asked, "rb") as requests, os.fdopen(answer, "wb") as answers:

        def send(kind: str, value: object) -> None:
            answers.write(pickle.dumps((kind, value)))
            answers.flush()

        while True:
            try:
                function, arguments = pickle.load(requests)
            except EOFError:
                return
            except Exception as error:
                send("raised", CannotSend(f"{type(error).__name__}: {error}"))
                continue
            try:
                made = function(lambda value: send("said", value), *arguments)
            except Exception as error:
                send("raised", _sent(error))
            else:
                send("made", made)


def _sent(error: Exception) -> Exception:
    """An error that can be sent: itself, or its words."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
