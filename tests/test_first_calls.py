"""What first calls of any shape compile: benchmarks/first_calls.py measures their times."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from rooftile.devices.cpu.native import build
from rooftile.functional.dense import conv2d_problem, linear_problem
from rooftile.runtime.selection.choice import decide


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("first_calls")


def _problem(case):
    options = {name: tuple(v) if isinstance(v, list) else v for name, v in case["options"].items()}
    precision = options.pop("precision", "ieee")
    images, weights, *_ = map(tuple, case["shapes"])
    if case["function"] == "linear":
        return linear_problem(images, weights, options["activation"], case["dtype"]), precision
    if "pool" in options:
        options["pool"] = tuple(map(_pair, options["pool"]))
    if options.get("boundary") == "wrap":
        options["boundary"] = "zero"
    options = {"pool": None, "boundary": "zero"} | options
    return conv2d_problem(images, weights, **options, dtype=case["dtype"]), precision


def _pair(one):
    return tuple(one) if isinstance(one, list) else one


def test_no_text_of_drawn_shapes_is_beyond_the_compilers_budget(script, monkeypatch):
    """LLVM's time follows the lines, and with all passes it is twice as long for each."""
    given = []
    machine = SimpleNamespace(emit_object=bytes)
    monkeypatch.setattr(build, "_machine", lambda opt=2: machine)
    monkeypatch.setattr(build, "_optimised", lambda text, passes: given.append(passes) or b"")
    for case in script.drawn(40, seed=4):
        if case["function"] == "conv1d" or case["shapes"][0][0] == 0:
            continue
        problem, precision = _problem(case)
        native = decide(problem, precision).strategy.native(problem)
        if native is None:
            continue
        function, dtypes, scratch = native
        text = function.text(dtypes, scratch)
        build.compiled(text, function.passes)
        share, lines = 2 if given[-1] == "all" else 1, text.count("\n")
        assert share * lines <= build.MOST_INSTRUCTIONS, (case, function.name, lines)
    assert len(given) > 20


@pytest.mark.parametrize("seed", [0])
def test_a_fresh_process_says_what_its_first_call_takes(script, tmp_path, seed):
    """One case of each kind, in the process that the benchmark starts."""
    for case in script.drawn(len(script.DRAWS), seed)[-2:]:
        row = script.measured(case, str(tmp_path))
        assert math.isfinite(row["s"]), row
        assert row["mb"] < 300, row


def test_draws_are_the_seeds(script):
    assert script.drawn(8, 1) == script.drawn(8, 1) != script.drawn(8, 2)
