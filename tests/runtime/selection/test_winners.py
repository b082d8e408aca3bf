"""What is recorded of winners, as whoever runs an operation asks for it."""

from __future__ import annotations

import copy
import dataclasses
import multiprocessing

import pytest

import rooftile
from rooftile.devices.select import parse_device
from rooftile.errors import DeviceMissing, RooftileWarning
from rooftile.lab.judge.verify import assert_close, random_inputs
from rooftile.lab.measure.history.store import History, record_winner
from rooftile.lab.measure.records import Row
from rooftile.nn import architecture
from rooftile.ops import Conv2d, Pool
from rooftile.runtime.calls import gpu as execution
from rooftile.runtime.selection import choice, database
from rooftile.runtime.selection import tuned as lab
from rooftile.runtime.selection.tuned import (
    Winner,
    fingerprint,
    items,
    tunings,
)
from rooftile.strategies import strategy
from rooftile.strategies.contract import renamed
from rooftile.strategies.conv2d.gpu.rows import RowLocal

PROBLEM = Conv2d(8, 1, 20, 24, 2, (3, 3), activation="relu", pool=Pool.of("max", 2))
ROWS = strategy("conv2d", "row_local", "opencl")
CONFIG = {"GROUPS": 28, "ITEMS": 128, "SPAN": 16}


def tuned_config(rung, problem, gpu):
    return tunings(problem, gpu.kind).config(rung, gpu.name)


def tuned_choice(problem, precision, device):
    kind, index = parse_device(device)
    return tunings(problem, kind).strategy(precision, index)


@pytest.fixture
def gpu(opencl_device):
    return opencl_device.description


def record(hardware, config=CONFIG, rung=ROWS, batch=8, preferred=True, precision="ieee"):
    """A winner of `PROBLEM`, as a tuning records it."""
    problem = PROBLEM.with_batch(batch)
    name = fingerprint(rung, problem, items(config))
    with History() as history:
        run = history.begin("final", "opencl:0", hardware, {})
        row = Row("strategy", rung.name, "opencl:0", "ieee", "failed", "not looked at")
        number = history.add(run, problem, row)
        winner = Winner(batch, precision, rung.name, config, name, preferred)
        record_winner(history, run, problem, winner, "opencl", number)


@pytest.fixture
def crown(history_path, gpu):
    """Record a winner on this device."""

    def made(config=CONFIG, hardware=gpu.name, **options):
        record(hardware, config, **options)

    return made


def test_without_a_database_nothing_is_opened_and_none_is_made(history_path, gpu, monkeypatch):
    monkeypatch.setattr(database, "connect", None)
    assert tuned_config(ROWS, PROBLEM, gpu) is None
    for device in ("cpu", "opencl", "cuda:3"):
        assert tuned_choice(PROBLEM, "ieee", device) is None
    assert not history_path.exists()


def test_a_winner_is_found(crown, gpu):
    crown()
    assert tuned_config(ROWS, PROBLEM, gpu) == CONFIG
    assert tuned_choice(PROBLEM, "ieee", "opencl") is ROWS
    assert tuned_choice(PROBLEM, "ieee", "opencl:0") is ROWS


def test_the_database_is_read_once_until_it_changes(crown, gpu, monkeypatch):
    crown()
    opened = []
    real = database.connect
    monkeypatch.setattr(database, "connect", lambda path: opened.append(path) or real(path))
    for _ in range(5):
        assert tuned_config(ROWS, PROBLEM, gpu) == CONFIG
    before = len(opened)
    assert before <= 2  # Reading may itself tidy the log away.
    for _ in range(100):
        tuned_config(ROWS, PROBLEM, gpu)
        tuned_choice(PROBLEM, "ieee", "opencl")
    assert len(opened) == before
    crown({**CONFIG, "ITEMS": 256})
    assert tuned_config(ROWS, PROBLEM, gpu)["ITEMS"] == 256


def test_a_winner_is_seen_while_its_writer_is_still_open(crown, gpu, history_path):
    crown()
    with History() as history:
        assert tuned_config(ROWS, PROBLEM, gpu) == CONFIG
        history.write("UPDATE winners SET config = ?", ('{"GROUPS": 1}',))
        assert tuned_config(ROWS, PROBLEM, gpu) is None


def test_a_tuning_of_a_rung_by_an_older_name_is_its_tuning(crown, gpu, monkeypatch):
    crown()
    with History() as history:
        history.write("UPDATE winners SET strategy = ?", ("of_before",))
    assert tuned_config(ROWS, PROBLEM, gpu) is None
    monkeypatch.setitem(renamed.RENAMED, "of_before", ROWS.name)
    crown({**CONFIG, "ITEMS": 64}, batch=PROBLEM.batch * 5)
    assert tuned_config(ROWS, PROBLEM, gpu) == CONFIG
    assert tuned_choice(PROBLEM, "ieee", "opencl") is ROWS


def test_the_newest_of_the_nearest_batch_counts(crown, gpu):
    for items_, batch in ((64, 16), (128, 8), (256, 8), (64, 2)):
        crown({**CONFIG, "ITEMS": items_}, batch=batch)

    def found(batch):
        config = tuned_config(ROWS, PROBLEM.with_batch(batch), gpu)
        return config and config["ITEMS"]

    assert [found(batch) for batch in (8, 9, 16, 64, 65, 1, 5)] == [256, 256, 64, 64, None, 64, 256]


@pytest.mark.parametrize("changes", [{"maps": 3}, {"pool": None}, {"padding": (1, 1)}])
def test_another_problem_has_no_winner(crown, gpu, changes):
    crown()
    other = dataclasses.replace(PROBLEM, **changes)
    assert tuned_config(ROWS, other, gpu) is None
    assert tuned_choice(other, "ieee", "opencl") is None


def test_winners_of_other_hardware_kinds_and_precisions_do_not_count(crown, gpu):
    crown(hardware="another")
    assert tuned_config(ROWS, PROBLEM, gpu) is None
    assert tuned_choice(PROBLEM, "ieee", "opencl") is None
    crown(precision="fast")
    assert tuned_config(ROWS, PROBLEM, dataclasses.replace(gpu, kind="cuda")) is None
    assert tuned_choice(PROBLEM, "ieee", "opencl") is None
    assert tuned_choice(PROBLEM, "fast", "opencl") is ROWS
    assert tuned_choice(PROBLEM, "fast", "cuda") is None


def test_who_did_not_beat_the_pick_is_not_chosen(crown, gpu):
    crown(preferred=False)
    assert tuned_choice(PROBLEM, "ieee", "opencl") is None
    assert tuned_config(ROWS, PROBLEM, gpu) == CONFIG


def test_a_winner_of_an_older_program_does_not_count(crown, gpu):
    changed = type("Changed", (RowLocal,), {"text": ROWS.text + "\n#define BEFORE"})()
    crown(rung=changed)
    assert tuned_config(ROWS, PROBLEM, gpu) is None
    assert tuned_choice(PROBLEM, "ieee", "opencl") is None
    renamed = type("Renamed", (RowLocal,), {"tunables": RowLocal.tunables[:2]})()
    crown()
    assert tuned_config(renamed, PROBLEM, gpu) is None


def test_a_winner_that_the_problem_forbids_does_not_count(crown, gpu, monkeypatch):
    crown()
    monkeypatch.setattr(RowLocal, "invalid", lambda self, problem, config: "not here")
    assert tuned_config(ROWS, PROBLEM, gpu) is None


def test_a_strategy_that_is_gone_is_not_chosen(crown, monkeypatch):
    crown()
    monkeypatch.setattr(lab, "ladder", lambda operation, kind: ())
    assert tuned_choice(PROBLEM, "ieee", "opencl") is None


def test_a_device_that_is_missing_is_left_to_whoever_runs(crown, monkeypatch):
    crown()

    def missing(kind, index):
        raise DeviceMissing("a device", "one")

    monkeypatch.setattr(lab, "describe_gpu", missing)
    assert tuned_choice(PROBLEM, "ieee", "opencl") is None


@pytest.mark.parametrize("content", [b"not a database, but there\n" * 100, b"SQLite format 3\0"])
def test_a_database_that_cannot_be_read_costs_the_tunings_alone(history_path, gpu, content):
    """Calls on a GPU go on, as a climb and calls on the CPU do, and one warning names the file."""
    history_path.write_bytes(content)
    with pytest.warns(RooftileWarning, match=r"history\.sqlite") as warned:
        found = [tuned_config(ROWS, PROBLEM, gpu) for _ in range(2)]
    assert found == [None, None]
    assert len(warned) == 1
    assert tuned_choice(PROBLEM, "ieee", "opencl") is None
    assert tuned_choice(PROBLEM, "ieee", "cpu") is None
    assert history_path.read_bytes() == content


def test_a_place_that_cannot_be_looked_at_has_no_tunings(tmp_path, monkeypatch, gpu):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ROOFTILE_HISTORY", str(tmp_path / "file" / "history.sqlite"))
    assert tuned_config(ROWS, PROBLEM, gpu) is None


def test_programs_are_told_apart_by_what_they_launch():
    narrow = dataclasses.replace(PROBLEM, width=12)

    def name(problem=PROBLEM, rung=ROWS, **changes):
        return fingerprint(rung, problem, items({**CONFIG, **changes}))

    assert name() == name()
    # The row ends before either span does.
    assert name(narrow, SPAN=32) == name(narrow, SPAN=64)
    others = {name(), name(ITEMS=64), name(SPAN=32), name(narrow), name(PROBLEM.with_batch(9)),
              name(rung=strategy("conv2d", "row_pair", "opencl"))}  # fmt: skip
    assert len(others) == 6


def test_comments_are_no_part_of_a_program():
    def name(text):
        rung = copy.copy(ROWS)
        rung.__dict__["text"] = text
        return fingerprint(rung, PROBLEM, items(CONFIG))

    text = f"// One more.\n{ROWS.text}/* And\n another. */"
    assert name(text) == fingerprint(ROWS, PROBLEM, items(CONFIG))
    assert name(f"{text}int more;") != name(text)


def test_a_choice_is_dropped_when_a_winner_is_added(crown, gpu):
    before = choice.decide(PROBLEM, "ieee", "opencl")
    assert before.strategy.name == "direct_tile"
    assert before.config is None
    assert choice.decide(PROBLEM, "ieee", "opencl") is before
    crown()
    won = choice.decide(PROBLEM, "ieee", "opencl")
    assert (won.strategy, won.config) == (ROWS, CONFIG)
    assert choice.decide(PROBLEM, "ieee", "opencl") is won
    # By name too, there is another config now; and by another process as well.
    named = choice.decide(PROBLEM, "ieee", "opencl", "row_local")
    assert named.config == CONFIG
    better = {**CONFIG, "ITEMS": 256}
    child = multiprocessing.get_context("spawn").Process(target=record, args=(gpu.name, better))
    child.start()
    child.join(120)
    assert child.exitcode == 0
    for name in (None, "row_local"):
        assert choice.decide(PROBLEM, "ieee", "opencl", name).config == better
    # The CPU's strategies have no tunables: nothing is decided anew.
    on_cpu = choice.decide(PROBLEM)
    crown()
    assert choice.decide(PROBLEM) is on_cpu


def test_calls_use_the_winners_strategy_and_config(crown, opencl_device, monkeypatch):
    """From the public function down to what is compiled."""
    crown()
    compiled = []
    real = RowLocal.compile

    def watched(self, problem, device, config=None):
        compiled.append((problem, dict(config)))
        return real(self, problem, device, config)

    monkeypatch.setattr(RowLocal, "compile", watched)
    monkeypatch.setattr(execution, "executables", {})
    x, *parameters = random_inputs(PROBLEM, 1)
    y = rooftile.conv2d(x, *parameters, activation="relu", pool=("max", 2), device="opencl")
    assert_close(PROBLEM, y, x, *parameters)
    assert compiled == [(PROBLEM, CONFIG)]


def test_plans_use_the_winners_strategy_and_config(history_path, gpu):
    network = architecture("mnist8").initialise(1)
    problem = network.plan(batch=8, device="opencl").layers[0].problem
    with History() as history:
        run = history.begin("final", "opencl:0", gpu.name, {})
        row = Row("strategy", ROWS.name, "opencl:0", "ieee", "failed", "not looked at")
        name = fingerprint(ROWS, problem, items(CONFIG))
        winner = Winner(8, "ieee", ROWS.name, CONFIG, name, True)
        record_winner(history, run, problem, winner, "opencl", history.add(run, problem, row))
    plan = network.plan(batch=8, device="opencl")
    assert plan.layers[0].strategy is ROWS
    assert plan.bound[0].config == CONFIG
