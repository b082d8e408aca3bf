"""An experiment that ends the process in which it runs; a child process can import it."""

from __future__ import annotations

import ctypes

from rooftile_papers.reproduce.experiment import Experiment, Log, ruled


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
