"""The course's worked numbers: the printed answer, ours, and the reason where they part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.analysis import bounds, traffic
from rooftile.analysis.machines import MACHINES
from rooftile.lab.measure.ceilings.gpu_latencies import gpu_microbenchmarks
from rooftile.lab.measure.ceilings.microbenchmarks import Level
from rooftile_papers.reproduce.exam_answers import ANSWERS as SLIPS
from rooftile_papers.reproduce.exam_claims import add_claims
from rooftile_papers.reproduce.exam_worked import ANSWERS as WORKED
from rooftile_papers.reproduce.experiment import Experiment, Found, Log, Ruling, Setting, ruled
from rooftile_papers.reproduce.figures import Figure, table
from rooftile_papers.reproduce.verdicts import by_size

ANSWERS = {**SLIPS, **WORKED}
"""By the id of the printed number."""
REUSE_1D = ((16, 32, 64, 128, 256), (5, 9))
REUSE_2D = ((8, 16, 32, 64), (5, 9))
PEAK_1D, PEAK_2D = (1024, (5, 9, 15, 55)), (32, (3, 5, 7, 9))
"""Tiles and masks of the lecture's tables."""
_LEVELS: Mapping[str, Level] = {
    "register": "registers",
    "shared": "shared",
    "global": "memory",
    "constant, cached": "constant",
}
"""The lectures' memories, as the microbenchmarks name them."""


class ExamTables(Experiment):
    """Every number that can be calculated; a GPU measures the latencies as well."""

    name = "exams"
    title = "The course's tables and worked answers, calculated"
    what = (
        "Slides, guides and exams print numbers for launches, occupancy, reuse, scans, atomics and "
        "transfers; some are slips, some were cut off, some contradict their own derivation."
    )
    prefixes = ("course.",)
    needs: ClassVar = {"cpu": (1, 1), "cuda": (3, 3)}
    unmeasured: ClassVar = {"course.latency": "latencies of memories are a GPU's"}

    def measure(self, setting: Setting) -> Found:
        """Calculate each printed number, and the lecture's tables for every machine."""
        log = Log()
        for name, answer in ANSWERS.items():
            log.number(name, float(answer.calculate()), "", "printed numbers")
        for dims, (tiles, masks) in ((1, REUSE_1D), (2, REUSE_2D)):
            for mask in masks:
                for tile in tiles:
                    value = traffic.conv_reuse((tile,) * dims, (mask,) * dims)
                    name = f"reuse in {dims}D, tile {tile}, mask {mask}"
                    log.number(name, value, "times", "reuse of internal tiles")
        for one in MACHINES.values():
            for dims, (width, widths) in ((1, PEAK_1D), (2, PEAK_2D)):
                for mask in widths:
                    rates = one.peak_gflops, one.bandwidth_gb_s
                    value = bounds.tiled_conv_percent((width,) * dims, (mask,) * dims, *rates)
                    name = f"{one.name}: {dims}D, tile {width}, mask {mask}"
                    log.number(name, value, "%", "share of peak")
        _latencies(log, setting)
        add_claims(log)
        return log.found()

    def judge(self, found: Found) -> list[Ruling]:
        """A printed number holds where ours rounds to it."""
        rulings = []
        for one in self.tables():
            for figure in one.figures:
                ours = found.value(figure.id)
                if ours is None:
                    continue
                if figure.id in ANSWERS:
                    rulings.append(_ruling(figure, ours, ANSWERS[figure.id].reason))
                else:
                    rulings.append(by_size(figure, ours))
        return ruled(rulings, self)


def _latencies(log: Log, setting: Setting) -> None:
    """Cycles from a read of each kind of memory to the next that waits for it, on a GPU."""
    if not setting.large or setting.gpu is None:
        log.notes.append("latencies of memories are a GPU's")
        return
    with setting.gpu.on():
        found = gpu_microbenchmarks(setting.gpu)
    for figure in table("course.latency").figures:
        level = found.latency(_LEVELS[figure.key]) if found else None
        if level is not None and level.cycles is not None:
            log.number(figure.id, level.cycles, "cycles", "latencies")


def _ruling(figure: Figure, ours: float, reason: str) -> Ruling:
    if rounds_to(ours, figure.value):
        return Ruling(figure, "holds", reason, ours)
    return Ruling(figure, "cannot be", reason, ours)


def rounds_to(ours: float, printed: float) -> bool:
    """True if a number is as near to a printed one as its last digit says."""
    decimals = len(f"{printed:.10f}".rstrip("0").partition(".")[2])
    return abs(ours - printed) <= 0.5000001 * 10.0**-decimals


EXPERIMENT = ExamTables()
