"""An experiment that ends the process in which it runs; a child process can import it."""

from __future__ import annotations

import ctypes

from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.conv1d.cpu.loops import Loops
from rooftile_papers.reproduce.experiment import Experiment, Log, ruled
from rooftile_papers.reproduce.timed import Entry, time_rungs


class Ends(Experiment):
    """Measures a number, and then reads where nothing is."""

    name, title, what = "ends", "an end", "It ends."
    prefixes = ("nothing",)
    needs = {"opencl": (1, 1)}  # noqa: RUF012

    def measure(self, setting):
        log = Log()
        log.number("the first", 5.0, "ms")
        ctypes.string_at(0)
        return log.found()

    def judge(self, found):
        return ruled([], self)


class Deadly(Loops):
    """A rung whose process ends while it is compiled."""

    name = "deadly"

    def prepare(self, *given):
        ctypes.string_at(0)


class LosesOne(Ends):
    """Of three rungs the second one ends the process."""

    def measure(self, setting):
        log, problem = Log(), Conv1d(1000, 5)
        entries = {
            "before": Entry(problem, "loops"),
            "deadly": Entry(problem, Deadly()),
            "behind": Entry(problem, "loops"),
        }
        time_rungs(log, entries, None, seconds=0.01)
        return log.found()
