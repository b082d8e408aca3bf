"""An experiment that ends the process in which it runs; a child process can import it."""

from __future__ import annotations

import ctypes
from collections import Counter
from unittest import mock

from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.conv1d.cpu.loops import Loops
from rooftile_papers.reproduce import timed
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


class LosesOneInTurns(Ends):
    """Of three rungs that are right the second one ends the process while all are timed."""

    def measure(self, setting):
        log, problem, made = Log(), Conv1d(1000, 5), Counter()
        entries = {name: Entry(problem, "naive", group=name) for name in ("one", "two", "three")}
        prepare = timed.prepared

        def prepared(entry, place, seed):
            call = prepare(entry, place, seed)

            def run():
                made[entry.group] += 1
                # Every rung has been called before the first turn.
                if entry.group == "two" and made["three"] >= 2:
                    ctypes.string_at(0)
                call()

            return run

        with mock.patch.object(timed, "prepared", prepared):
            timed.time_rungs(log, entries, setting.gpu, seconds=0.01)
        return log.found()
