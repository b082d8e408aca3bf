"""Fit the paces of sparse formats to a record's times, and say how well others are foretold.

    python benchmarks/patterns_fit.py patterns-h200 [--write]

It prints a `Machine`'s paces for `rooftile.analysis.spmv_machines`.  Then each family of matrices
is left out in turn: the paces are fitted to the others alone, from numbers that know no format, and
choose for the family that they have not seen.  With ``--write`` the record keeps that.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path

from patterns_rows import Record

from rooftile.analysis.spmv import Structure, pace_of, predicted_us
from rooftile.analysis.spmv_machines import H200, PROCESSOR, Machine, Pace
from rooftile.ops.sparse.rows import FORMS, Form

RESULTS = Path(__file__).parent / "results"
NEUTRAL = {
    "gpu": Pace(2, 0.9, 0.9, 400, 0.01, 0.001),
    "cpu": Pace(10, 0.9, 0.9, 3, 1e-6, 0.1),
}
"""Where every format's fit begins; a number that nothing speaks of stays as it is."""
NEAR = 1.1
"""A choice is good if it takes so many times the best format's time, at most."""
_TIE = 0.003
"""How much a number's distance from where it began counts beside errors of predictions."""
_STEPS = (2.0, 1.5, 1.25, 1.1, 1.04)
_SHARES = (1, 2)
"""Which numbers of a pace are shares of a bandwidth: at most 1."""
_FAMILIES = ("diagonals", "grid", "up to", "one full", "blocks", "a row")

Seen = tuple[Structure, Form, float]


def family(matrix: str) -> str:
    """The family that a matrix is of, by its name."""
    return next(words for words in _FAMILIES if words in matrix)


def fitted(observed: Sequence[Record], machine: Machine, neutral: Pace) -> Machine:
    """The machine with paces that foretell the measured times of these matrices."""
    seen: dict[str, list[Seen]] = defaultdict(list)
    for one in observed:
        structure = Structure(**one["structure"])
        for form, us in one["measured_us"].items():
            seen[pace_of(structure, form, machine)].append((structure, form, us))
    paces = {name: _fit(seen[name], machine, neutral) for name in machine.paces}
    for name in paces:
        if not seen[name]:
            # Of rows of very different lengths nothing was seen: they go as others do.
            paces[name] = paces[name.removesuffix(", uneven")]
    return replace(machine, paces=paces)


def _fit(seen: Sequence[Seen], machine: Machine, neutral: Pace) -> Pace:
    """Change one number at a time, by smaller and smaller steps, as long as that helps."""
    start = list(astuple(neutral))
    best, error = start, _error(start, start, seen, machine)
    for step in _STEPS:
        changed = bool(seen)
        while changed:
            changed = False
            for other in _beside(best, step):
                found = _error(other, start, seen, machine)
                if found < error - 1e-9:
                    best, error, changed = other, found, True
    return Pace(*(float(f"{value:.3g}") for value in best))


def _beside(numbers: list[float], step: float) -> Iterator[list[float]]:
    for at in range(len(numbers)):
        for factor in (step, 1 / step):
            other = list(numbers)
            other[at] *= factor
            if at in _SHARES:
                other[at] = min(1.0, other[at])
            yield other


def _error(
    numbers: list[float], start: list[float], seen: Sequence[Seen], machine: Machine
) -> float:
    pace = Pace(*numbers)
    # Whatever the format is called, its pace is this one.
    there = replace(machine, paces=dict.fromkeys(FORMS, pace))
    off = sum(math.log(predicted_us(of, form, there) / us) ** 2 for of, form, us in seen)
    return off + _TIE * sum(math.log(a / b) ** 2 for a, b in zip(numbers, start, strict=True))


def over_best(one: Record, machine: Machine) -> float:
    """The time of the format that is chosen for a matrix over the best format's."""
    structure, measured = Structure(**one["structure"]), one["measured_us"]
    chosen = min(measured, key=lambda form: predicted_us(structure, form, machine))
    return float(measured[chosen] / min(measured.values()))


def held_out(observed: Sequence[Record], machine: Machine, neutral: Pace) -> dict[str, float]:
    """`over_best` of each matrix, by paces that were fitted to the other families."""
    found: dict[str, float] = {}
    for name in dict.fromkeys(family(one["matrix"]) for one in observed):
        others = [one for one in observed if family(one["matrix"]) != name]
        apart = fitted(others, machine, neutral)
        mine = (one for one in observed if family(one["matrix"]) == name)
        found |= {one["matrix"]: over_best(one, apart) for one in mine}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("record", help="the record's name")
    parser.add_argument("--write", action="store_true", help="keep it in the record")
    options = parser.parse_args()
    path = RESULTS / f"{options.record}.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    on_gpu = bool(record["environment"].get("device"))
    machine, neutral = (H200, NEUTRAL["gpu"]) if on_gpu else (PROCESSOR, NEUTRAL["cpu"])
    observed = record["chooser"]
    for name, pace in fitted(observed, machine, neutral).paces.items():
        print(f'        "{name}": Pace({", ".join(f"{value:g}" for value in astuple(pace))}),')
    apart = held_out(observed, machine, neutral)
    for name, over in apart.items():
        print(f"{name}: {over:.2f}")
    print(sum(over <= NEAR for over in apart.values()), "of", len(apart))
    if options.write:
        record["held_out"] = apart
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
