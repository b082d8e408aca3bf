"""The MLP deck's trainer: unrolled loops and threads on layers of 30 weights."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

from rooftile.ops import parse
from rooftile.ops.registry import operations
from rooftile.strategies import Strategy, strategy
from rooftile_papers.reproduce.experiment import Experiment, Found, Log, Ruling, Setting, ruled
from rooftile_papers.reproduce.figures import table
from rooftile_papers.reproduce.timed import Entry, time_rungs
from rooftile_papers.reproduce.verdicts import by_ratio, by_value

_OPERATION = "mlp_training"
_ROWS, _RIGHT, _TESTED = 1096, 163, 275
_LAYERS = "4:softmax-5:relu-5:tanh-1:sigmoid"
_EPOCHS = (1000, 10000, 100000)
RUNGS = {
    "origin": "loops",
    "unroll 2": "unrolled_2",
    "unroll 4": "unrolled_4",
    "unroll 8": "unrolled_8",
    "Pthread 4": "threads_4",
    "Pthread 8": "threads_8",
    "Pthread 16": "threads_16",
}
"""The deck's variants, and our rungs that do the same."""
OPENMP = {"OpenMP 3": 3, "OpenMP 4": 4, "OpenMP 5": 5}
"""Its other threads: they share loops as a compiler's parallel loops do, as all of ours do."""
_SHARING = "threads_4"


class MlpTrainer(Experiment):
    """A step for each sample, with loops written out or shared among threads."""

    name = "mlp"
    title = "A trainer of a small network in C"
    what = (
        "4 inputs, hidden layers of 4, 5 and 5 and one output, a step for each of 1096 samples: no "
        "loop has more than 30 rounds, so threads meet more often than they compute. Its tables "
        "label one time with two numbers of epochs, and its accuracy contradicts its own matrix, "
        "which has no row for one of the classes."
    )
    prefixes = ("mlp.",)
    needs: ClassVar = {"cpu": (75, 18)}

    def measure(self, setting: Setting) -> Found:
        """Every variant for some epochs, whose time is proportional to their number."""
        log = Log()
        _own_numbers(log)
        if _OPERATION not in operations():
            log.notes.append(f"there is no operation {_OPERATION}: nothing is trained")
            return log.found()
        epochs = 5 if setting.quick else 30
        log.notes.append(f"{epochs} epochs are run, and their time is scaled to 1000")
        sizes = f"rows={_ROWS},features=4,layers={_LAYERS},dtype=float64"
        problem = parse(_OPERATION, f"{sizes},epochs={epochs}")
        small = parse(_OPERATION, f"{sizes},epochs=1")
        rungs: dict[str, str | Strategy] = {**RUNGS}
        rungs |= {name: _threads(count) for name, count in OPENMP.items()}
        entries = {
            name: Entry(problem, rung, {}, "as published", small) for name, rung in rungs.items()
        }
        entries["registers"] = Entry(problem, "registers", {}, "rightly", small)
        seconds = 0.2 if setting.quick else 1.0
        times = time_rungs(log, entries, None, seconds=seconds, seed=setting.seed)
        for name, milliseconds in times.items():
            log.number(f"{name}, 1000 epochs", milliseconds / epochs, "s", "1000 epochs")
        threads = [name for name in times if name.startswith(("Pthread", "OpenMP"))]
        if "origin" in times and threads:
            gain = times["origin"] / min(times[name] for name in threads)
            said = f"the best number of threads is {gain:.2f} times as fast as none here"
            log.claim("threads make the training faster", gain > 1, said)
        return log.found()

    def judge(self, found: Found) -> list[Ruling]:
        """Variants in ratio; the accuracy by its matrix."""
        thousand = {
            name: value
            for name in (*RUNGS, *OPENMP)
            if (value := found.value(f"{name}, 1000 epochs")) is not None
        }
        rulings: list[Ruling] = []
        for one in self.tables():
            epochs = one.id.rpartition(" ")[2]
            if epochs.isdigit() and int(epochs) in _EPOCHS:
                scale = int(epochs) / 1000
                ours = {name: scale * value for name, value in thousand.items()}
                rulings += by_ratio(one, ours)
        (profiled,) = table("mlp.gprof").figures
        serial = [table(f"mlp.{name} 10000")["origin"] for name in ("threads", "unrolled")]
        said = f"its tables have {serial[0]:g} and {serial[1]:g} s for as many epochs"
        rulings.append(by_value(profiled, min(serial), said))
        (accuracy,) = table("mlp.accuracy").figures
        right = 100 * _RIGHT / _TESTED
        said = f"{_RIGHT} of {_TESTED} are {right:.2f} %, and one class alone is ever predicted"
        return ruled([*rulings, by_value(accuracy, right, said, same=0.001)], self)


def _threads(count: int) -> Strategy:
    """The rung whose ``count`` threads share loops."""
    rung: Any = copy(strategy(_OPERATION, _SHARING))
    rung.name, rung.threads = f"threads_{count}", count
    found: Strategy = rung
    return found


def _own_numbers(log: Log) -> None:
    """The deck's tables against its sentences."""
    most = table("mlp.threads 100000")
    worse = [
        f"{fewer} {most[fewer]:g} s, {more} {most[more]:g} s"
        for fewer, more in (("Pthread 8", "Pthread 16"), ("OpenMP 4", "OpenMP 5"))
        if most[more] > most[fewer]
    ]
    said = f"with 100,000 epochs: {'; '.join(worse)}"
    log.claim("the more threads the better", not worse, said)
    once, again = table("mlp.openmp unrolled 1000"), table("mlp.threads 10000")
    said = f"{once['origin']:g} s stand for 1000 epochs in one table and for 10,000 in another"
    log.claim("its tables agree on the sizes", once["origin"] != again["origin"], said)


EXPERIMENT = MlpTrainer()
