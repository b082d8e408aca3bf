from __future__ import annotations

import argparse
import json
import re
from types import SimpleNamespace

import pytest

from rooftile.cli.commands import tune
from rooftile.cli.commands.tune import _show
from rooftile.cli.render import grid as _grid
from rooftile.cli.render.output import Output
from rooftile.devices import select
from rooftile.errors import DeviceMissing, RooftileWarning
from rooftile.lab.measure.history.compare import Comparison
from rooftile.lab.measure.history.store import records
from rooftile.lab.measure.records import Row
from rooftile.lab.measure.tune.search import Search, Trial
from rooftile.lab.measure.tune.winner import Crowned
from rooftile.ops import parse
from rooftile.runtime.timing.host import Timing
from rooftile.strategies import strategy

pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("on_grid", "plainly_compiled")]

SHAPE = "channels=1,height=20,width=24,maps=2,mask=3x3,activation=relu,pool=max:2"
TUNE = ("tune", "conv2d", "--shape", SHAPE, "--batch", 2, "--device", "opencl")
ROWS = (*TUNE, "--strategy", "row_local", "--trials", 4, "--sampler", "random")


def test_a_search_its_winner_and_the_history(call, history_path, opencl_device):
    code, out, err = call(*ROWS)
    assert code == 0, err
    assert max(map(len, out.splitlines())) <= 80
    assert "4 passed" in out
    # A search of four may find nothing that beats the default.
    assert re.search(r"(winner|the default stays), on fresh inputs: GROUPS=", out)
    assert "against direct_tile, which is picked so far:" in " ".join(out.split())
    assert len(re.findall(r"best [0-9.]+ ms", err)) == 4
    assert len(records(command="tune")) == 4


def test_a_damaged_history_costs_the_record_alone(call, history_path, opencl_device):
    history_path.write_bytes(b"no database\n" * 400)
    with pytest.warns(RooftileWarning, match="no tuning is known"):
        code, out, err = call(*ROWS[:-4], "--trials", 1, "--sampler", "random")
    assert code == 0, err
    assert "1 passed" in out
    assert err.count("nothing is recorded: history: got") == 1
    assert history_path.read_bytes() == b"no database\n" * 400


def test_a_second_call_goes_on(call_json, opencl_device, history_path):
    first = call_json(*ROWS)
    assert set(first) == {
        "problem", "device", "hardware", "strategy", "precision", "tunables", "default", "trials",
        "winner", "against_default", "against_pick", "preferred",
    }  # fmt: skip
    assert [trial["resumed"] for trial in first["trials"]] == [False] * 4
    assert first["winner"]["time_ms"]["median"] > 0
    assert first["against_pick"]["outcome"] in ("faster", "slower", "same", "cannot tell")
    again = call_json(*ROWS)
    assert [trial["resumed"] for trial in again["trials"]] == [True] * 4
    assert [t["median_ms"] for t in again["trials"]] == [t["median_ms"] for t in first["trials"]]


def test_a_grid_is_a_two_way_table(call, call_json, opencl_device, history_path):
    grid = (
        *TUNE,
        "--strategy",
        "row_local",
        "--grid",
        "ITEMS=64,128 GROUPS=28,56,99999999 SPAN=16",
    )
    code, out, err = call(*grid)
    assert code == 0, err
    lines = [line for line in out.splitlines() if line]
    assert lines[0] == "milliseconds, SPAN=16"
    assert lines[1].split() == ["ITEMS", "\\", "GROUPS", "28", "56", "99999999"]
    assert [line.split()[0] for line in lines[2:4]] == ["64", "128"]
    assert "fastest ITEMS=" in out
    found = call_json(*grid)["grid"]
    assert found["rows"] == {"name": "ITEMS", "values": [64, 128]}
    assert found["columns"] == {"name": "GROUPS", "values": [28, 56, 99999999]}
    assert found["fixed"] == {"SPAN": 16}
    assert [len(row) for row in found["median_ms"]] == [3, 3]
    assert records(command="final") == []


def test_a_heat_map_goes_from_green_to_red():
    def shade(time):
        row = type("Row", (), {"time_ms": type("T", (), {"median": time}), "status": "passed"})
        return _grid._cell(Trial({}, row), [1.0, 10.0, 100.0], unicode=True)

    cells = [shade(time) for time in (1.0, 10.0, 100.0)]
    colours = [tuple(map(int, re.findall(r"\d+", str(cell.style)))) for cell in cells]
    assert colours[0][1] > colours[0][0]
    assert colours[2][0] > colours[2][1]
    assert colours[0][0] < colours[1][0] < colours[2][0]
    assert [cell.plain[-1] for cell in cells] == ["█", "▒", " "]


@pytest.mark.parametrize(
    ("grid", "text"),
    [
        ("GROUPS=28,56", "two tunables with several values"),
        ("GROUPS=28,56 ITEMS=64,128 SPAN=16,32", "two tunables with several values"),
        ("GROUPS=28,x ITEMS=64,128", "NAME=1,2,3"),
        ("GROUPS=28,56 GROUPS=64,128", "each name once"),
        ("GROUPS=28,56 BREADTH=64,128", "BREADTH"),
    ],
)
def test_a_grid_that_is_none_is_refused(call, opencl_device, history_path, grid, text):
    code, out, err = call(*TUNE, "--strategy", "row_local", "--grid", grid)
    assert (code, out) == (2, "")
    assert text in err


def test_an_interrupt_says_what_is_kept(call, opencl_device, history_path, monkeypatch):
    real = Search._attempt

    def interrupted(self, config):
        if len(self.known()) == 2:
            raise KeyboardInterrupt
        return real(self, config)

    monkeypatch.setattr(Search, "_attempt", interrupted)
    code, _, err = call(*ROWS)
    assert code == 130
    assert "2 results are kept; the same command goes on from there" in err
    monkeypatch.setattr(Search, "_attempt", real)
    assert call(*ROWS)[0] == 0
    assert len(records(command="tune")) == 4


def test_on_a_terminal_a_bar_shows_the_best_so_far(monkeypatch, capsys, opencl_device):
    from rich.console import Console

    from rooftile.cli.commands import tune

    output = Output(type("A", (), {"json": False}))
    output.progress = Console(stderr=True, force_terminal=True, width=100)
    search = type("S", (), {"strategy": strategy("conv2d", "row_local", "opencl")})
    row = type("Row", (), {"time_ms": type("T", (), {"median": 0.25}), "status": "passed"})
    trial = Trial({"GROUPS": 28}, row)
    with tune.bar(output, search, 7) as advance:
        advance(trial, trial)
    shown = capsys.readouterr().err
    assert "row_local" in shown
    assert "1/7" in shown
    assert "best 0.2500 ms: GROUPS=28" in shown


@pytest.mark.parametrize(
    ("arguments", "expected", "text"),
    [
        (("--device", "cpu"), 2, "strategies of the CPU have no tunables"),
        (("--strategy", "winograd"), 1, "precision"),
        (("--sampler", "annealing"), 2, "one of ['auto', 'exhaustive', 'random', 'tpe', 'gp']"),
    ],
)
def test_what_cannot_be_tuned_is_one_message(
    call, opencl_device, history_path, arguments, expected, text
):
    code, out, err = call(*TUNE, *arguments)
    assert (code, out) == (expected, "")
    assert text in err


def test_without_a_strategy_it_is_the_one_that_is_picked(call_json, opencl_device, history_path):
    found = call_json(*TUNE, "--trials", 2)
    assert found["strategy"] == "direct_tile"
    assert found["against_pick"] is None
    assert len(found["trials"]) == 2
    assert json.dumps(found["problem"])
    assert found["problem"]["operation"] == parse("conv2d", SHAPE).operation


@pytest.mark.parametrize("default_wins", [True, False])
def test_a_default_that_stays_is_called_no_winner(capsys, default_wins):
    rung, timing = strategy("conv2d", "row_local", "opencl"), Timing(1.0, 1.0, 1.0, 1.0, 3, True)
    rows = [
        Row("strategy", "row_local", "opencl:0", "ieee", "passed", config={"ITEMS": items},
            time_ms=timing, gflops=1.0, gbps=1.0)
        for items in (64, 128)
    ]  # fmt: skip
    against = None if default_wins else Comparison("faster", 0.8, 0.7, 0.9, 0.01, 0.95, (9, 9))
    crowned = Crowned(rows[0 if default_wins else 1], rows[0], against, None)
    device = SimpleNamespace(description=SimpleNamespace(name="a device"))
    search = SimpleNamespace(strategy=rung, device=device)
    _show(Output(argparse.Namespace(json=False)), search, [], crowned, "row_local")
    out = capsys.readouterr().out
    assert ("the default stays, on fresh inputs: ITEMS=64" in out) == default_wins
    assert ("winner, on fresh inputs: ITEMS=128" in out) != default_wins


@pytest.mark.parametrize(
    ("there", "taken"), [(("cuda", "opencl"), "cuda"), (("opencl",), "opencl")]
)
def test_without_a_device_it_is_the_first_that_there_is(monkeypatch, there, taken):
    def counted(kind):
        if kind not in there:
            raise DeviceMissing(kind, "it")
        return 1

    monkeypatch.setattr(select, "count_gpus", counted)
    assert tune.first_device() == taken


def test_without_any_device_it_says_what_it_looked_for(call, monkeypatch):
    monkeypatch.setattr(select, "count_gpus", lambda kind: 0)
    code, out, err = call("tune", "conv2d")
    assert (code, out) == (1, "")
    assert "a device of CUDA or OpenCL to tune on" in err
    assert "got 'cpu'" not in err
