"""Rungs that end the process in which they run; a child process can import them."""

from __future__ import annotations

import ctypes
import os

from tests.support.climbed import FromNaive


class Right(FromNaive):
    """`naive` by another name."""

    name = "right"


class Ends(FromNaive):
    """Ends its process before anything is computed."""

    name = "ends"

    def bind(self, *_, **__):
        ctypes.string_at(0)


class EndsWhereTold(FromNaive):
    """Ends its process with every config but the default one."""

    name = "ends where told"

    def bind(self, problem, parameters, device, config=None):
        if config and dict(config) != self.config(problem):
            ctypes.string_at(0)
        return super().bind(problem, parameters, device, config)


def answer(say, value):
    """A call of a child."""
    say("asked")
    return os.getpid(), value


def fail(say):
    raise ValueError("no such thing")


def leave(say):
    os._exit(3)
