"""benchmarks/patterns*.py: calls that compute their problems, goals, rows, pages in step."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.analysis.spmv import Structure, predicted_us
from rooftile.analysis.spmv_machines import H200
from rooftile.lab.judge.expected import Expected
from rooftile.ops import Precision
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.reduce import Reduce
from rooftile.ops.patterns.stencil import Stencil
from rooftile.runtime.timing.host import Timing
from rooftile.strategies import ladder, strategy

PICKED = strategy("conv1d", "vectors")


@pytest.fixture(scope="module")
def scripts(benchmark_script):
    names = ("calls", "cases", "check", "cpu", "fit", "page", "rows")
    return SimpleNamespace(**{name: benchmark_script(f"patterns_{name}") for name in names})


def timing(ms):
    return Timing(ms, ms, ms, ms, 20, True)


def timed(**times):
    """A row of the case of additions, with these times in ms, those of peers by ``peer_...``."""
    return [
        (
            ("peer" if "_" in name else "copy" if name == "copy" else "strategy"),
            name.replace("_", " "),
            ms,
        )
        for name, ms in times.items()
    ]


@pytest.fixture
def row(scripts):
    def made(case=None, **times):
        found = scripts.rows.row_of(case or scripts.cases.CPU[0], PICKED, None)
        found["entries"] = [
            scripts.rows.entry(kind, name, timing(ms)) for kind, name, ms in timed(**times)
        ]
        return found

    return made


def test_every_case_is_a_problem_with_a_call_and_a_page(scripts):
    for cases in (scripts.cases.GPU, scripts.cases.CPU):
        keys = [case.key for case in cases]
        assert len(set(keys)) == len(keys)
        for case in cases:
            assert case.problem.operation == case.operation
            assert case.operation in scripts.calls.CALLS
            assert (scripts.page.DOCS / f"{scripts.calls.PAGES[case.operation]}.md").exists()
            assert {goal.what for goal in case.goals} <= set(scripts.page.GOALS)


def test_calls_compute_their_problems(scripts):
    cases = {case.operation: case.problem for case in (*scripts.cases.GPU, *scripts.cases.CPU)}
    small = {operation: problem.neighbours()[0] for operation, problem in cases.items()}
    small |= {
        "stencil": Stencil((5, 6), 5, 3),
        "axpy": Elementwise("axpy", (9,)),
        "scale": Elementwise("scale", (9,)),
        "reduce": Reduce((3, 5), -1),
    }
    assert set(scripts.calls.CALLS) <= set(small)
    for problem in small.values():
        arrays = problem.random(0)
        if problem.operation == "unique":
            # The public call sorts first, which the problem does not.
            arrays = (np.sort(arrays[0]),)
        call = scripts.calls.CALLS[problem.operation](problem, *arrays)
        made = np.asarray(call(strategy=ladder(problem.operation, "cpu")[0].name))
        outputs = problem.given_by_others(made)
        Expected(problem, *arrays).judge(outputs, "ieee").raise_if_wrong()


@pytest.mark.parametrize(
    ("what", "limit", "value", "enough"),
    [
        ("ms", 2.5, 2.0, True),
        ("ms", 1.5, 2.0, False),
        ("copy", 0.9, 0.5, False),
        ("peer", 2.0, 2.0, True),
        ("numpy", 6.0, 5.0, False),
    ],
)
def test_goals(scripts, row, what, limit, value, enough):
    found = row(rooftile=2.0, copy=1.0, torch_eager=4.0, peer_other=8.0, numpy=10.0)
    assert scripts.rows.reached(found, {"what": what, "value": limit}) == (value, enough)
    assert scripts.rows.reached(row(copy=1.0), {"what": what, "value": limit}) is None


def test_16_bit_arrays_have_fewer_bytes(scripts):
    case = scripts.cases.Case("matmul", "matmul-512", precision="fp16", dtype="float16")
    assert 2 * scripts.rows.moved_bytes(case) == case.problem.bytes
    precision: Precision = "ieee"
    whole = dataclasses.replace(case, precision=precision, dtype="float32")
    assert scripts.rows.moved_bytes(whole) == case.problem.bytes


def test_rows_are_verified_before_they_are_timed(scripts, monkeypatch, quick):
    case = scripts.cases.Case("conv1d", "signal-1e3-mask3", ladder=True)
    wrong = scripts.calls.CALLS["conv1d"]

    def altered(problem, x, mask):
        call = wrong(problem, x, mask)

        def called(strategy=None, out=None):
            made = call(strategy=strategy, out=out)
            if strategy == "threads":
                out[7] += 1
            return made

        return called

    monkeypatch.setattr(scripts.cpu, "CALLS", {**scripts.calls.CALLS, "conv1d": altered})
    found = scripts.rows.row_of(case, PICKED, None)
    scripts.cpu.fill(found, case, seconds=0.0)
    entries = {one["name"]: one for one in found["entries"]}
    assert entries["threads"]["time_ms"] is None
    assert entries["threads"]["reason"].startswith("wrong")
    assert {"rooftile", "loops", "vectors", "numpy", "copy"} <= {
        name for name, one in entries.items() if one["time_ms"]
    }
    assert "[threads: wrong" in scripts.rows.line(found)


def test_a_row_takes_the_place_of_the_former_one(scripts, row):
    first, second, third = scripts.cases.CPU[:3]
    kept = [row(first, rooftile=1.0), row(third, rooftile=1.0)]
    merged = scripts.rows.merged(kept, row(second, rooftile=3.0), scripts.cases.CPU)
    assert [one["key"] for one in merged] == [first.key, second.key, third.key]
    merged = scripts.rows.merged(merged, row(third, rooftile=5.0), scripts.cases.CPU)
    assert scripts.rows.median(merged[2], "rooftile") == 5.0


def test_pages_have_calls_and_ladders_and_files_beside_records_goals_and_predictions(scripts, row):
    case = scripts.cases.Case(
        "elementwise", "add-2^20", (scripts.cases.Goal("copy", 0.9),), ladder=True
    )
    found = row(case, rooftile=2.0, vectors=2.0, naive=4.0, torch_eager=3.0, copy=1.9)
    told = {"time": "2026-11-22T10:00", "revision": "abc", "load": 0.5}
    found |= {"floor_ms": 1.0, "measured": told}
    found["entries"][2]["explained"] = {
        "bound_ms": 1.0,
        "bound_by": "device memory",
        "moved_bytes": 1,
        "input_loads": 1.0,
        "adds_per_load": 0.25,
        "uncached_ms": 1.5,
        "sector_use": 0.5,
        "divergent": 0.0,
    }
    record = {
        "environment": {
            "cpu": "a CPU",
            "cores": 2,
            "device": {"name": "NVIDIA H200", "driver": "CUDA 13.0"},
        },
        "versions": {"torch": "2"},
        "rows": [found],
    }
    marks = "before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter"
    text = scripts.page.page(marks, "elementwise", [record])
    assert text.startswith("before\n")
    assert text.endswith("\nafter")
    assert "old" not in text
    assert "### NVIDIA H200, 2026-11-22" in text
    assert "| 2 | 50% | 1.50 x torch eager |" in text
    assert "| `vectors` (picked) | 2 | 50% | " in text
    assert "`benchmarks/results/patterns-elementwise.md`" in text
    assert scripts.page.page(marks, "matmul", [record]).count("\n") < 6
    text = scripts.page.whole("elementwise", [record])
    assert "2026-11-22, revision abc; CUDA 13.0, load up to 0.5;" in text
    assert "| 90% of a copy | 95%: yes |" in text
    assert "| torch eager | 3 | 1.50 |" in text
    assert "| `vectors` (picked) | 2 | 50% |" in text
    assert "| 1 | device memory | 25% | 1.5 | 0.25 | 50% | 0.00% |" in text


def test_the_pages_are_in_step_with_the_records(scripts):
    records = scripts.page.records()
    for name in sorted(set(scripts.calls.PAGES.values())):
        text = (scripts.page.DOCS / f"{name}.md").read_text(encoding="utf-8")
        assert scripts.page.page(text, name, records) == text, name
        kept = scripts.page.whole_path(name).read_text(encoding="utf-8")
        assert kept == scripts.page.whole(name, records), name


CHECKED = {
    "exact": (Elementwise("add", (100,)), "ieee"),
    "budget": (Conv1d(100, 5), "ieee"),
    "steps": (Stencil((6, 7, 8), 7, 2), "ieee"),
    "tf32": (Matmul(8, 9, 10), "tf32"),
    "bf16": (Matmul(8, 9, 10), "bf16"),
}


@pytest.mark.parametrize("name", CHECKED)
def test_results_are_held_against_double_precision(scripts, name):
    torch = pytest.importorskip("torch")
    problem, precision = CHECKED[name]
    arrays = [torch.from_numpy(array) for array in problem.random(0)]
    given = arrays
    if precision != "ieee":
        rounded = scripts.check._double
        given = [rounded(array, precision).float() for array in arrays]
    made = torch.from_numpy(problem.reference(*(a.numpy() for a in given)).astype(np.float32))
    if precision == "bf16":
        arrays, made = [array.bfloat16() for array in arrays], made.bfloat16()
    check = scripts.check.Check(problem, arrays, precision)
    assert check.why_wrong(made, peer=False) is None
    unwritten = made.clone()
    unwritten.reshape(-1)[3] = float("nan")
    assert check.why_wrong(unwritten, peer=True).startswith("wrong")
    assert check.why_wrong(made * 1.1, peer=False).startswith("wrong")


def test_paces_are_fitted_to_times(scripts):
    """Times that a machine foretells are foretold by one that was fitted to them."""
    shapes = ((2**16, 4, 2**18), (2**18, 8, 2**21), (2**20, 16, 2**24), (2**18, 4000, 2**20))
    observed = []
    for rows, longest, entries in shapes:
        structure = Structure(rows, rows, entries, longest, 1.0, 2 * rows - 1, 8, 0, entries, False)
        times = {form: predicted_us(structure, form, H200) for form in ("csr", "ell", "jds_t")}
        name = f"{longest} a row" if longest < 4000 else "up to 4000"
        observed.append(
            {"matrix": name, "structure": dataclasses.asdict(structure), "measured_us": times}
        )
    fitted = scripts.fit.fitted(observed, H200, scripts.fit.NEUTRAL["gpu"])
    for one in observed:
        assert scripts.fit.over_best(one, fitted) < 1.05
        for form, us in one["measured_us"].items():
            assert predicted_us(Structure(**one["structure"]), form, fitted) == pytest.approx(
                us, 0.2
            )
    apart = scripts.fit.held_out(observed, H200, scripts.fit.NEUTRAL["gpu"])
    assert set(apart) == {one["matrix"] for one in observed}
    assert all(over >= 1 for over in apart.values())
