from __future__ import annotations

import dataclasses

import pytest

from rooftile.cli.commands import climb as command
from rooftile.cli.render.ladder import gpu_table, rows_table
from rooftile.lab.measure import climb as lab
from rooftile.lab.measure import clocks
from rooftile.lab.measure.ceilings.cpu import Ceilings, Rates
from rooftile.lab.measure.contest import Contest
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.history.store import History, records
from rooftile.lab.measure.records import Error, KernelResources, Ladder, Row
from rooftile.ops import parse
from rooftile.runtime.timing.host import Timing
from rooftile.strategies import ladder

pytestmark = pytest.mark.usefixtures("on_grid", "plainly_compiled")

RATES = Rates(2, 200.0, 30.0, 30.0, 40.0)
SHAPE = "channels=2,height=12,width=14,maps=3,mask=3x3,activation=relu,pool=max:2"
"""That of tests/lab/measure/test_climb.py, so that the CPU's rungs are compiled once for both."""


def test_the_table_fits_80_columns(call, known_roof):
    code, out, err = call("climb", "conv2d", "--shape", SHAPE, "--batch", 2)
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1] == "x[2,2,12,14] weights[3,2,3,3] bias[3] -> [2,3,5,6]"
    for name in ("loops", "threads", "register_tile"):
        assert any(line.startswith(name) for line in lines)
        assert f"conv2d: {name}" in err
    assert any("200 GFLOP/s" in line for line in lines)


def test_one_json_object_on_standard_output(call_json, known_roof):
    found = call_json("climb", "conv2d", "--shape", SHAPE, "--strategy", "loops", "--seed", 3)
    assert set(found) == {"problem", "device", "ceilings", "environment", "rows"}
    (row,) = found["rows"]
    assert (row["strategy"], row["status"]) == ("loops", "passed")
    assert row["time_ms"]["median"] > 0


def test_a_skipped_rung_says_why(call, known_roof):
    _, out, _ = call("climb", "conv2d", "--shape", SHAPE, "--strategy", "loops", "--limit", 1e-9)
    assert "loops: skipped, would take" in out
    _, out, _ = call(
        "climb", "conv2d", "--shape", SHAPE, "--strategy", "loops", "--limit", 1e-9, "--all"
    )
    assert "skipped" not in out


def test_a_wrong_strategy_is_exit_code_1(call, known_roof, monkeypatch):
    real = lab.climb

    def wrong(*arguments, **options):
        found = real(*arguments, **options)
        error = Error(max_abs=1.0, max_rel=1.0, budget_fraction=1e6)
        row = Row("strategy", "broken", "cpu", "ieee", "failed", "3 elements [1, 2]", error=error)
        return dataclasses.replace(found, rows=(*found.rows, row))

    monkeypatch.setattr(lab, "climb", wrong)
    code, out, _ = call("climb", "conv2d", "--shape", SHAPE, "--strategy", "loops")
    assert code == 1
    assert "broken: failed, 3 elements [1, 2]" in out


@pytest.mark.parametrize(("fraction", "text"), [(0.5, "50 %"), (1.93, "193 %*")])
def test_more_than_the_roof_is_marked_effective(known_roof, fraction, text):
    found = lab.climb("conv2d", SHAPE, only="loops")
    row = dataclasses.replace(found.rows[0], roof_fraction=fraction)
    table = rows_table((row,), unicode=False)
    assert table.column("roof") == [text]
    assert table.column("") == ["#" * min(16, round(16 * fraction))]


@pytest.mark.alone
def test_gpu_rungs_in_a_table_that_fits_80_columns(call, opencl_device):
    code, out, err = call(
        "climb", "conv2d", "--shape", SHAPE, "--device", "opencl", "--strategy", "im2col"
    )
    assert code == 0, err
    assert max(map(len, out.splitlines())) <= 80
    assert "opencl:0: " in out
    assert "cold: with nothing of the data" in " ".join(out.split())
    assert "im2col: passed, bias, activation and pool apart" in out
    assert ("not a GPU" in " ".join(out.split())) != opencl_device.description.gpu


@pytest.mark.alone
def test_gpu_rungs_as_json(call_json, opencl_device, known_roof):
    found = call_json(
        "climb", "conv2d", "--shape", SHAPE, "--device", "opencl:0", "--strategy", "direct_tile"
    )
    # A processor that OpenCL drives stands under the processor's own roof.
    assert ("all_cores" in found["ceilings"]) != opencl_device.description.gpu
    assert found["device"] == "opencl:0"
    (row,) = found["rows"]
    assert (row["strategy"], row["status"]) == ("direct_tile", "passed")
    assert row["roof_fraction"] > 0


def test_a_stored_problem_is_climbed_and_named_in_what_to_do_next(call, opencl_device, known_roof):
    asked = ("--shape", f"{SHAPE.replace(',activation=relu', '')}", "--batch", 2)
    stored = ("--stored", "where=uint8", "--strategy", "naive", "--device", "opencl")
    code, out, err = call("climb", "conv2d_input_gradient", *asked, *stored)
    assert code == 0, err
    assert "where[2,3,5,6]:uint8" in out
    assert "pool=max:2 --stored where=uint8 --batch 2" in " ".join(out.split())
    _, out, _ = call("climb", "conv2d", "--shape", SHAPE, "--stored", "x=float16", "--strategy",
                     "loops")  # fmt: skip
    assert "loops: skipped, it is not written for x stored as float16" in out


@pytest.mark.parametrize(
    ("arguments", "expected", "text"),
    [
        (("conv2d", "--device", "cuda"), 1, "not found: a working NVIDIA driver"),
        (("conv2d", "--device", "opencl", "--peers"), 2, "peers"),
        (("conv9d", "--device", "opencl"), 2, "conv9d"),
    ],
)
def test_what_a_gpu_cannot_do_is_one_message(call, no_cuda, arguments, expected, text):
    shape = SHAPE if arguments[0] == "conv2d" else "classes-10"
    code, out, err = call("climb", *arguments, "--shape", shape)
    assert (code, out) == (expected, "")
    assert text in err.splitlines()[-1]


def test_what_rows_share_is_said_once():
    rows = [Row("strategy", name, "opencl:0", "ieee", "skipped", "no") for name in ("a", "b")]
    assert command.reasons(tuple(rows)) == ["a, b: skipped, no"]
    again = Row("peer", "a", "cuda:0", "fp16", "skipped", "no")
    assert command.reasons((rows[0], again)) == ["a (ieee), a (fp16): skipped, no"]


def test_a_rung_is_compared_with_peers_of_its_own_precision(known_roof):
    def row(kind, name, precision, median):
        timing = Timing(median, median, median, median, 20, steady=True)
        return Row(kind, name, "cuda:0", precision, "passed", time_ms=timing, gflops=1, gbps=1)

    rows = (
        row("strategy", "direct_tile", "ieee", 2.0), row("strategy", "winograd", "fast", 1.0),
        row("strategy", "folded_tf32", "tf32", 0.5), row("strategy", "folded_fp16", "fp16", 0.25),
        row("peer", "torch eager", "ieee", 4.0), row("peer", "torch eager", "fp16", 0.125),
    )  # fmt: skip
    found = dataclasses.replace(lab.climb("conv2d", SHAPE, only="loops"), rows=rows)
    assert command.comparison(found) == [
        "direct_tile (ieee): 2.00 x the speed of torch eager (ieee)",
        "winograd (fast): 4.00 x the speed of torch eager (ieee)",
        "folded_fp16 (fp16): 0.50 x the speed of torch eager (fp16)",
    ]


def test_resources_are_shown_where_they_are_known():
    timing = Timing(0.5, 0.4, 0.6, 0.3, 20, steady=True)
    used = KernelResources(40, 2048, 0, 0.625)
    known = Row("strategy", "known", "cuda:0", "ieee", "passed", error=Error(0, 0, 0.25),
                time_ms=timing, gflops=12.0, gbps=3.0, resources=used,
                cold_ms=dataclasses.replace(timing, median=0.7), roof_fraction=0.62)  # fmt: skip
    unknown = Row("strategy", "unknown", "cuda:0", "ieee", "skipped", "no")
    table = gpu_table((known, unknown))
    cells = [table.column(heading) for heading in table.headings]
    assert cells == [
        ["known", "unknown"], ["ieee", "ieee"], ["0.5000", "skipped"], ["1", ""], ["12.0", ""],
        ["0.25", ""], ["0.7000", ""], ["62 %", ""], ["40", ""], ["2048", ""], ["0", ""],
        ["62 %", ""],
    ]  # fmt: skip


def test_rows_are_recorded_unless_told_not_to(call, known_roof, history_path):
    arguments = ("climb", "conv2d", "--shape", SHAPE, "--batch", 2, "--seed", 5)
    assert call(*arguments, "--strategy", "loops", "--no-history")[0] == 0
    assert not history_path.exists()
    assert call(*arguments)[0] == 0
    found = records(problem=parse("conv2d", SHAPE, 2), device="cpu", command="climb")
    assert [record.strategy for record in found] == [rung.name for rung in ladder("conv2d")]
    assert {record.seed for record in found} == {5}
    assert all(record.samples for record in found if record.status == "passed")
    assert found[0].environment["llvmlite"]


def test_a_history_that_cannot_be_written_costs_the_record_alone(call, known_roof, history_path):
    history_path.write_text("no database, whatever it is called\n" * 100)
    code, out, err = call("climb", "conv2d", "--shape", SHAPE, "--strategy", "loops")
    assert code == 0
    assert "loops" in out
    assert "history.sqlite" in err


def test_an_interrupt_keeps_what_is_done(call, known_roof, history_path, monkeypatch):
    examined = Contest.strategy

    def interrupted(self, rung, config=None):
        if rung.name == "threads":
            raise KeyboardInterrupt
        return examined(self, rung, config)

    monkeypatch.setattr(Contest, "strategy", interrupted)
    code, out, err = call("climb", "conv2d", "--shape", SHAPE)
    assert code == 130
    assert "rung 1 of" in err
    assert "skipped, the climb was interrupted before" in out
    assert next(line for line in out.splitlines() if line.startswith("loops")).split()[2] > "0"
    with History() as history:
        assert [record.strategy for record in history.records()] == ["loops"]


def test_an_interrupt_while_rungs_are_timed_keeps_the_times_that_are_there(
    call, known_roof, history_path, monkeypatch
):
    def interrupted(call, *, seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(clocks, "cold", interrupted)
    code, out, err = call("climb", "conv2d", "--shape", SHAPE, "--strategy", "loops")
    assert code == 130
    assert "timing 1 in turns, about" in err
    assert next(line for line in out.splitlines() if line.startswith("loops")).split()[2] > "0"
    with History() as history:
        assert [record.status for record in history.records()] == ["passed"]


def test_a_climb_says_when_the_machine_was_too_busy(call, known_roof, monkeypatch):
    timing = Timing(1.0, 0.9, 1.1, 0.8, 20, steady=True, waited=0.3)
    monkeypatch.setattr(clocks, "interleaved", lambda calls, **_: dict.fromkeys(calls, timing))
    _, _, err = call("climb", "conv2d", "--shape", SHAPE, "--strategy", "loops", "--no-history")
    assert "too busy to trust times: loops: up to 30 %" in err


def timed(name, milliseconds, *, kind="strategy", **more):
    timing = Timing(*[milliseconds] * 4, 9, steady=True)
    return Row(kind, name, "cpu", "ieee", "passed", time_ms=timing, gflops=3.0, gbps=1.5, **more)


def test_speed_ups_are_over_the_first_rung_that_has_a_time():
    skipped = Row("strategy", "loops", "cpu", "ieee", "skipped", "no")
    rows = (skipped, timed("threads", 8.0), timed("vectors", 2.0), timed("lib", 1.0, kind="peer"))
    for table in (rows_table(rows, unicode=False), gpu_table(rows)):
        assert table.column("speed-up") == ["", "1", "4", "", "8"]


def test_memory_s_rate_stands_where_memory_bounds():
    rows = (timed("loops", 8.0),)
    for by_memory, heading, rate in ((True, "GB/s", "1.5"), (False, "GFLOP/s", "3.0")):
        for table in (
            rows_table(rows, unicode=False, by_memory=by_memory),
            gpu_table(rows, by_memory=by_memory),
        ):
            assert table.column(heading) == [rate]
            assert len({"GB/s", "GFLOP/s"} & set(table.headings)) == 1


@pytest.fixture
def climbs(monkeypatch):
    """What `climb` was called for; nothing is measured."""
    made = []

    def climb(operation, shape, batch, device, *, only, **options):
        made.append((shape, batch, only))
        names = (only,) if isinstance(only, str) else only or ("loops", "vectors")
        rows = tuple(timed(name, 2.0 if name == "vectors" else 5.0) for name in names)
        problem = parse(operation, shape, batch)
        return Ladder(problem, "cpu", Ceilings(RATES, RATES, True), environment(), rows)

    monkeypatch.setattr(lab, "climb", climb)
    return made


def test_without_a_shape_it_is_the_textbook_s_problem_and_large_asks_for_more(call, climbs):
    code, out, _ = call("climb", "conv2d", "--no-history")
    assert (code, climbs) == (0, [("lenet-conv1", 16, None)])
    assert "next: rooftile explain conv2d --shape lenet-conv1 --batch 16" in out
    assert "next: rooftile climb conv2d --large" in " ".join(out.split())
    code, out, _ = call("climb", "conv2d", "--large", "--no-history")
    assert climbs[1:] == [("lenet-conv1", None, None)]
    assert "--large" not in out
    code, _, err = call("climb", "conv2d", "--large", "--shape", "lenet-conv1")
    assert code == 2
    assert "--large" in err


def test_the_formats_of_spmv_stand_on_one_matrix(call, call_json, climbs):
    code, out, _ = call("climb", "spmv", "--no-history")
    assert code == 0
    shapes = {shape: only for shape, _, only in climbs}
    assert sorted(name for only in shapes.values() for name in only) == sorted(
        rung.name for rung in ladder("spmv")
    )
    assert shapes["banded-small-bsr"] == ("blocks",)
    lines = [line.split()[0] for line in out.splitlines() if " ieee " in line]
    assert lines == [rung.name for rung in ladder("spmv")]
    assert "banded-small-bsr: blocks" in out
    found = call_json("climb", "spmv", "--no-history", "--strategy", "tiles")
    assert found["shapes"] == {"banded-small-ell": ["tiles"]}
    assert [row["strategy"] for row in found["rows"]] == ["tiles"]


def test_rungs_that_were_too_slow_are_named_in_what_to_do_next(call, climbs, monkeypatch):
    slow = Row("strategy", "loops", "cpu", "ieee", "skipped", "would take 99 s", cause="time limit")
    real = lab.climb

    def climb(*given, **options):
        found = real(*given, **options)
        return dataclasses.replace(found, rows=(slow, *found.rows))

    monkeypatch.setattr(lab, "climb", climb)
    out = " ".join(call("climb", "conv2d", "--no-history")[1].split())
    assert "next: rooftile climb conv2d --shape lenet-conv1 --batch 16 --all" in out
    assert "next: rooftile report" in out
