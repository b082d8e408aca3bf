"""The cost of calls: how it is measured and judged, and its page in step with its records.

No GPU is needed: what stands for one here has times that are made up.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.nn import architecture
from rooftile.ops import Chain, Conv2d, Linear, Pool
from rooftile.ops.patterns.matmul import Matmul

CONV = Conv2d(70, 3, 12, 11, 5, (3, 3), activation="relu", pool=Pool.of("max", 2))


@pytest.fixture(scope="module")
def scripts(benchmark_script):
    names = ("cases", "check", "clock", "first", "goals", "gpu", "page")
    return SimpleNamespace(**{name: benchmark_script(f"calls_{name}") for name in names})


def clocks(host, event=None, whole=None):
    times = {"host_us": host, "event_us": event, "whole_us": whole}
    return {
        name: {"median": one, "p20": one, "p80": one, "n": 8}
        for name, one in times.items()
        if one is not None
    }


def a_row(kind="conv2d", batch=10_000, times=None, **more):
    return {
        "key": "a key", "label": "a label", "kind": kind, "precision": "ieee", "dtype": "float32",
        "batch": batch, "times": times or {}, "refused": {}, "seconds": 1.0, **more,
    }  # fmt: skip


def test_every_case_has_a_key_of_its_own_and_quick_compiles_less(scripts):
    every, quick = (list(scripts.cases.cases(quick)) for quick in (False, True))
    keys = [case.key for case in every]
    assert len(set(keys)) == len(keys)
    assert keys == [case.key for case in quick]
    compiled, fewer = (sum(len(case.compiled) for case in some) for some in (every, quick))
    assert 0 < fewer < compiled


@settings(max_examples=30, deadline=None)
@given(host=st.floats(0.5, 5e3), whole=st.floats(1, 1e5))
def test_a_row_of_calls_is_hidden_and_not_too_long(scripts, host, whole):
    count, cycles = scripts.clock.row_of(host, whole)
    assert 4 <= count <= 40
    # No GPU of today has a clock above 2 GHz: the sleep lasts longer than the host takes.
    assert cycles / 2000 >= min(2 * host * count, 40_000)


def test_the_spread_of_times(scripts):
    assert scripts.clock.spread([5.0]) == {"median": 5.0, "p20": 5.0, "p80": 5.0, "n": 1}
    found = scripts.clock.spread([float(n) for n in range(10, -1, -1)])
    assert found == {"median": 5.0, "p20": 2.0, "p80": 8.0, "n": 11}


def test_everybody_is_first_once(scripts):
    orders = list(scripts.clock.turns(["a", "b", "c"], 3))
    assert [order[0] for order in orders] == ["a", "b", "c"]
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)


def test_one_that_fails_later_takes_nobody_along(scripts, monkeypatch):
    monkeypatch.setattr(scripts.clock, "_event", lambda call, count, cycles: 7.0)
    calls = []

    def bad():
        calls.append(0)
        if len(calls) > 2:
            raise ValueError("later")

    contenders = {
        "good": scripts.clock.Contender(lambda: None),
        "waits": scripts.clock.Contender(lambda: None, waits=True),
        "bad": scripts.clock.Contender(bad),
    }
    found, failed = scripts.clock.measure(contenders, lambda: None, rounds=3, seconds=9.0)
    assert failed == {"bad": "ValueError: later"}
    assert set(found["good"].record()) == {"host_us", "event_us", "whole_us"}
    assert found["good"].event == [7.0] * 3
    assert set(found["waits"].record()) == {"whole_us"}


def test_a_row_that_was_not_hidden_has_no_time(scripts, monkeypatch):
    monkeypatch.setattr(scripts.clock, "_event", lambda call, count, cycles: None)
    contenders = {"one": scripts.clock.Contender(lambda: None)}
    found, _ = scripts.clock.measure(contenders, lambda: None, rounds=2, seconds=9.0)
    record = found["one"].record()
    assert record["exposed"] == 2
    assert "event_us" not in record


CASES = {
    "conv2d": (CONV, "", "ieee", "float32"),
    "many maps": (Conv2d(1, 64, 40, 40, 256, (5, 5), padding=(2, 2)), "", "tf32", "float32"),
    "linear": (Linear(9, 40, 30, "relu"), "", "fp16", "float16"),
    "matmul": (Matmul(20, 60, 30), "", "fp16", "float32"),
    "network": (Chain(architecture("mnist8").problems(70)), "mnist8", "ieee", "float32"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_right_result_passes_and_wrong_ones_do_not(scripts, name):
    problem, model, precision, dtype = CASES[name]
    case = scripts.cases.Case(name, problem, precision, dtype, model=model)
    check = scripts.check.Check(case)
    x = check.whole(check.arrays[0])
    assert x.shape == problem.input_arrays[0].shape
    given = [
        scripts.check.rounded(array, precision)
        if precision != "ieee" and place.operand else array
        for place, array in zip(problem.given_arrays, (x, *check.arrays[1:]), strict=True)
    ]  # fmt: skip
    made = problem.reference(*given).astype(dtype)
    assert check.why_wrong(check.take(made), theirs=False) is None
    exact = problem.reference(x, *check.arrays[1:]).astype(dtype)
    assert check.why_wrong(check.take(exact), theirs=False) is None
    unwritten = made.copy()
    unwritten[-1] = np.nan
    assert check.why_wrong(check.take(unwritten), theirs=True).startswith("wrong")
    assert check.why_wrong(check.take(made * 1.05), theirs=False).startswith("wrong")


@given(size=st.integers(1, 300), count=st.integers(-2, 400))
def test_indices_are_spread(scripts, size, count):
    found = scripts.check.spread_over(size, count)
    assert found == sorted(set(found))
    assert len(found) == max(1, min(size, count))
    assert found[0] == 0
    assert found[-1] == size - 1 or len(found) == 1


def test_a_row_that_fails_says_why(scripts, monkeypatch):
    def broken(case):
        raise ValueError("no such thing")

    monkeypatch.setattr(scripts.gpu, "_fill", lambda row, case, *others: broken(case))
    case = scripts.cases.Case("linear", Linear(2, 3, 4))
    row = scripts.gpu.row_of_case(case, scripts.gpu.Watch(100.0), 1, 2)
    assert row["refused"] == {"all": "ValueError: no such thing"}
    assert "no such thing" in scripts.gpu.line(row)


def test_no_row_begins_when_the_time_is_over(scripts):
    watch = scripts.gpu.Watch(1.0, start=-1e9)
    assert watch.share(3) == 0
    case = scripts.cases.Case("linear", Linear(2, 3, 4))
    assert "over" in scripts.gpu.row_of_case(case, watch, 1, 2)["refused"]["all"]


def test_a_row_takes_the_place_of_the_former_one(scripts):
    first, second, third = [case.key for case in scripts.cases.cases(quick=True)][:3]
    rows = [{"key": first}, {"key": third, "seconds": 1}]
    rows = scripts.gpu.merged(rows, {"key": second})
    rows = scripts.gpu.merged(rows, {"key": third, "seconds": 2})
    assert rows == [{"key": first}, {"key": second}, {"key": third, "seconds": 2}]


def test_of_two_passes_that_stands_in_which_the_peer_was_faster(scripts):
    def row(ours, **peers):
        return a_row(times={"call": clocks(ours), **peers})

    slow, fast = (
        row(9.0, **{"torch eager": clocks(30.0)}),
        row(10.0, **{"torch eager": clocks(20.0)}),
    )
    assert scripts.gpu.kept(slow, fast) is fast
    assert scripts.gpu.kept(fast, slow) is fast
    slow, fast = (
        row(ours, **{scripts.gpu.COPY: clocks(None, None, copy)})
        for ours, copy in ((9.0, 50.0), (10.0, 40.0))
    )
    assert scripts.gpu.kept(slow, fast) is fast
    # What was cut short, or had no time to compile, is no better for that.
    whole = row(9.0, **{"torch eager": clocks(30.0), "torch compile": clocks(20.0)})
    part = row(9.0, **{"torch eager": clocks(10.0)})
    assert scripts.gpu.kept(part, whole) is whole
    assert scripts.gpu.kept(whole, a_row()) is whole


@pytest.mark.parametrize(("quick", "expected"), [(False, [2, 3, 2]), (True, [9, 3, 4])])
def test_all_rows_come_once_and_then_again(scripts, monkeypatch, quick, expected):
    cases = list(scripts.cases.cases(quick))[:3]
    hosts, seen = iter((9.0, 3.0, 4.0, 2.0, 5.0, 2.0)), []

    def row_of_case(case, watch, left, rounds):
        seen.append((case.key, left, watch.compile_until))
        return a_row(times={"torch eager": clocks(next(hosts))}) | {"key": case.key}

    monkeypatch.setattr(scripts.gpu, "row_of_case", row_of_case)
    record = {"rows": []}
    scripts.gpu._measure(record, cases, scripts.gpu.Watch(100.0), quick, None)
    keys, lefts, until = zip(*seen, strict=True)
    assert list(keys) == [case.key for case in cases] * (1 if quick else 2)
    assert list(lefts) == list(range(len(seen), 0, -1))
    assert set(until) == {0.6} if quick else {0.6, 0.9}
    assert [row["times"]["torch eager"]["host_us"]["median"] for row in record["rows"]] == expected


def test_goals_of_a_layer(scripts):
    times = {
        "call": clocks(10.0, 105.0), "prepared": clocks(7.0, 100.0), "torch eager": clocks(18.0, 1),
    }  # fmt: skip
    half, prepared, overhead = scripts.goals.goals(a_row(times=times))
    assert (half.value, half.reached) == (pytest.approx(10 / 18), False)
    assert (prepared.value, prepared.reached) == (7.0, True)
    assert (overhead.value, overhead.reached) == (1.05, False)
    assert len(list(scripts.goals.goals(a_row(batch=1, times=times)))) == 2
    assert not list(scripts.goals.goals(a_row()))


def test_goals_of_products_and_plans(scripts):
    times = {
        "call": clocks(9.0, 10.0), "torch eager": clocks(5.0, 30.0), "torch compile": clocks(9, 24),
    }  # fmt: skip
    (goal,) = scripts.goals.goals(a_row("matmul", None, times))
    assert (goal.value, goal.limit, goal.reached) == (2.4, 2.3, True)
    times = {"plan, PyTorch": clocks(13.0, 3.0), "plan, NumPy": clocks(None, None, 40.0)}
    (goal,) = scripts.goals.goals(a_row("plan", 1, times))
    assert (goal.value, goal.reached) == (13.0, False)


def test_the_page_shows_what_a_gpu_record_has(scripts):
    where = {"name": "NVIDIA H200", "driver": "CUDA 13.0"}
    record = {
        "environment": {"time": "now", "cpu": "a CPU", "python": "3.11", "device": where},
        "versions": "torch 2", "quick": True, "first_calls": [
            {"label": "one", "cold": 1.5, "warm": 0.25, "warm_since_import": 0.5},
            {"label": "cold failed", "error": "it broke"},
        ],
        "rows": [
            a_row(times={"call": clocks(4.0, 50.0, 60.0), "torch eager": clocks(16.0, 55.0, 70.0)}),
            a_row("plan", 1, {"plan, NumPy": clocks(None, None, 41.5)},
                  refused={"plan, CuPy": "No module\nnamed cupy"}),
        ],
    }  # fmt: skip
    text = scripts.page.whole({"calls-h200.json": record})
    assert "## Goals on the NVIDIA H200" in text
    assert "| host, call / torch eager | 0.25x | at most 0.5x | yes |" in text
    assert "| 41.5 (41.5-41.5) |" in text
    assert "plan, CuPy: No module named cupy" in text
    assert "| one | 1.500 | 0.250 |" in text
    assert "it broke" in text
    assert "measured\ntwice" not in text
    assert "measured\ntwice" in scripts.page.whole({"calls-h200.json": {**record, "passes": 2}})
    short = scripts.page.page({"calls-h200.json": record})
    assert "| `a label` | 4 | - | 16 |" in short
    assert "| `a label` | 41.5 |" in short
    assert "| one | 1.500 | 0.250 |" in short
    found = [goal.reached for row in record["rows"] for goal in scripts.goals.goals(row)]
    assert f"{sum(found)} of {len(found)} goals were reached" in short


def test_the_pages_are_in_step_with_the_records(scripts, monkeypatch, tmp_path):
    kept = {name: getattr(scripts.page, name).read_text("utf-8") for name in ("PAGE", "WHOLE")}
    for name in kept:
        monkeypatch.setattr(scripts.page, name, tmp_path / f"{name}.md")
    scripts.page.write()
    for name, text in kept.items():
        assert getattr(scripts.page, name).read_text("utf-8") == text


def test_first_calls_keep_what_was_printed_before_an_error(scripts):
    text = "print('one', 1.0, 2.0, sep='\\t', flush=True); raise ValueError('then')"
    printed, error = scripts.first._printed([sys.executable, "-c", text], {})
    assert printed == "one\t1.0\t2.0\n"
    assert "ValueError: then" in error


def test_a_process_that_takes_too_long_ends(scripts, monkeypatch):
    monkeypatch.setattr(scripts.first, "_LIMIT_S", 1.0)
    text = "import time; print('one', flush=True); print('tw', end='', flush=True); time.sleep(30)"
    printed, error = scripts.first._printed([sys.executable, "-c", text], {})
    assert printed == "one\n"
    assert "longer" in error


def test_the_texts_of_first_calls_are_python(scripts):
    for beginning in (scripts.first._CPU, scripts.first._CUDA):
        compile(beginning + scripts.first._CALLS, "first", "exec")


def test_warm_first_calls_are_medians_of_several_processes(scripts, monkeypatch):
    times = iter((20.0, 9.0, 1.0, 5.0, 2.0))
    monkeypatch.setattr(scripts.first, "_WARM_PROCESSES", {"cpu": 3})
    monkeypatch.setattr(
        scripts.first, "_printed", lambda *_: (f"one\t{(took := next(times))}\t{2 * took}\n", "")
    )
    (row,) = scripts.first.first_calls("cpu")
    assert (row["cold"], row["cold_processes"]) == (9.0, 1)
    assert (row["warm"], row["warm_since_import"], row["warm_processes"]) == (2.0, 4.0, 3)


def test_first_calls_find_no_cache_of_others(scripts, monkeypatch):
    found = []
    monkeypatch.setattr(
        scripts.first, "_printed", lambda _, environ: found.append(environ) or ("", "")
    )
    scripts.first.first_calls("cuda")
    for environ in found:
        assert environ["CUDA_CACHE_PATH"].startswith(environ["ROOFTILE_CACHE"])
    assert len({environ["PYTHONPYCACHEPREFIX"] for environ in found}) == 1
    before, cold, warm = (environ["ROOFTILE_CACHE"] for environ in found)
    assert before != cold == warm


def test_first_calls_keep_the_rows_that_were_measured_before(scripts, monkeypatch, tmp_path):
    import calls_cpu

    path = tmp_path / "calls-cpu.json"
    path.write_text('{"rows": [1], "first_calls": []}')
    monkeypatch.setattr(calls_cpu, "RESULTS", path)
    monkeypatch.setattr(calls_cpu, "first_calls", lambda kind: [{"label": kind}])
    record = calls_cpu.run_first(write=True)
    assert (record["rows"], record["first_calls"]) == ([1], [{"label": "cpu"}])
    assert scripts.page.json.loads(path.read_text()) == record


def test_rows_of_an_earlier_run_are_told_apart(scripts):
    rows = [{"label": "a"}, {"label": "b", "time": "yesterday"}, {"label": "a"}]
    (said,) = scripts.page._earlier(rows, "today")
    assert said == "Of this run are the rows of `a`; the others are of yesterday."
    assert scripts.page._earlier(rows[:1], "today") == []
