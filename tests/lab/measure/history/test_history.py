"""The history: what goes in comes out, whoever else writes; a bad file is named."""

from __future__ import annotations

import dataclasses
import datetime
import multiprocessing
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.measure.history import store as lab
from rooftile.lab.measure.history.store import History, Record
from rooftile.lab.measure.records import Error, KernelResources, Row
from rooftile.ops import Conv2d, Linear, Pool, named
from rooftile.runtime.selection import database as _database
from rooftile.runtime.timing.host import Timing
from rooftile.runtime.timing.telemetry import Clocks
from rooftile.strategies import strategy

PROBLEM = Conv2d(3, 1, 9, 8, 2, (3, 3), activation="relu", pool=Pool.of("max", 2))
TIMING = Timing(2.0, 1.5, 2.5, 1.0, 3, steady=True, samples=(1.0, 2.0, 3.0))
PASSED = Row(
    "strategy", "tiled", "cuda:0", "ieee", "passed", config={"A": 1}, error=Error(0.1, 0.2, 0.3),
    time_ms=TIMING, cold_ms=TIMING, gflops=1.0, gbps=2.0, resources=KernelResources(registers=40),
    clocks=Clocks(1980, 1900, 300.0, 50, 9, 1, ("power cap",)),
)  # fmt: skip
FAILED = Row("strategy", "other", "cuda:0", "ieee", "failed", "3 elements")


def begin(history, command="climb", device="cuda:0", revision="abc123", **options):
    return history.begin(command, device, "H200", {"revision": revision, "numpy": "2"}, **options)


def test_what_goes_in_comes_out(history_path):
    with History() as history:
        run = begin(history, seed=7)
        number = history.add(run, PROBLEM, PASSED, fingerprint="f00")
    (record,) = lab.records()
    assert record.to_row() == PASSED
    assert (record.id, record.run, record.command, record.seed) == (number, run.id, "climb", 7)
    assert (record.device, record.hardware, record.revision) == ("cuda:0", "H200", "abc123")
    assert (record.operation, record.batch, record.fingerprint) == ("conv2d", 3, "f00")
    assert record.problem["pool"] == {"kind": "max", "window": [2, 2], "stride": [2, 2]}
    assert "batch" not in record.problem
    assert (record.config, record.median_ms, record.samples) == ({"A": 1}, 2.0, TIMING.samples)
    assert record.environment == {"revision": "abc123", "numpy": "2"}
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(record.time)
    assert abs(age) < datetime.timedelta(minutes=1)
    assert Record.from_json(record.to_json()) == record


def test_infinities_and_failures_are_kept(history_path):
    wrong = dataclasses.replace(FAILED, error=Error(float("inf"), float("nan"), 9.0))
    with History() as history:
        history.add(begin(history), PROBLEM, wrong)
        (record,) = history.records()
    assert record.row["error"] == {"max_abs": None, "max_rel": None, "budget_fraction": 9.0}
    assert (record.median_ms, record.samples) == (None, ())
    assert record.to_row().reason == "3 elements"


def test_every_filter_keeps_its_own_and_nothing_else(history_path):
    linear = Linear(3, 4, 5)
    now = datetime.datetime.now()
    with History() as history:
        first = begin(history, revision="abc123")
        second = begin(history, "tune", "opencl:1", revision="def456")
        history.add(first, PROBLEM, PASSED)
        history.add(first, PROBLEM.with_batch(8), FAILED)
        history.add(second, linear, dataclasses.replace(PASSED, precision="fast"))

        def found(**filters):
            return [record.id for record in history.records(**filters)]

        assert found() == [1, 2, 3]
        assert found(operation="linear") == [3]
        assert found(problem=PROBLEM) == [1]
        assert found(problem=PROBLEM, any_batch=True) == [1, 2]
        assert found(device="cuda") == found(device="cuda:0") == [1, 2]
        assert found(device="opencl") == found(device="opencl:1") == [3]
        assert found(device="opencl:0") == found(device="open") == []
        assert found(hardware="H200") == [1, 2, 3]
        assert found(hardware="B200") == []
        assert found(strategy="other") == [2]
        assert found(precision="fast") == [3]
        assert found(status="failed") == [2]
        assert found(command="tune") == [3]
        assert found(run=second.id) == [3]
        assert found(revision="abc") == [1, 2]
        assert found(revision="bc") == []
        assert found(since=now - datetime.timedelta(minutes=1)) == [1, 2, 3]
        assert found(since=now + datetime.timedelta(minutes=1)) == []
        assert found(after=1) == [2, 3]
        assert found(last=2) == [2, 3]
        with pytest.raises(InputError, match="last: got -3"):
            found(last=-3)
        assert found(operation="conv2d", status="passed") == [1]


def test_records_of_a_rung_by_an_older_name_are_its_records(history_path):
    before, now = "direct_tile_winners", "direct_tile_argmax"
    with History() as history:
        run = begin(history)
        history.add(run, PROBLEM, dataclasses.replace(PASSED, strategy=before))
        history.add(run, PROBLEM, dataclasses.replace(PASSED, strategy=now))
        history.add(run, PROBLEM, dataclasses.replace(PASSED, strategy="direct_tile"))
        for name in (before, now):
            found = history.records(strategy=name)
            assert [record.id for record in found] == [1, 2]
            assert {(record.strategy, record.to_row().strategy) for record in found} == {(now, now)}
    assert strategy("conv2d", before, "cuda") is strategy("conv2d", now, "cuda")


def test_looking_makes_no_file(history_path):
    assert lab.records() == []
    assert not history_path.exists()


def test_the_file_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFTILE_HISTORY", str(tmp_path / "deep" / "er" / "h.sqlite"))
    with History() as history:
        assert history.path == tmp_path / "deep" / "er" / "h.sqlite"
    assert history.path.exists()
    monkeypatch.delenv("ROOFTILE_HISTORY")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert lab.history_file() == tmp_path / "data" / "rooftile" / "history.sqlite"


@given(batch=st.integers(1, 1000))
def test_a_problems_text_does_not_tell_its_batch(batch):
    assert PROBLEM.with_batch(batch).text == PROBLEM.text
    assert PROBLEM.text != dataclasses.replace(PROBLEM, maps=3).text
    assert named("conv2d", "lenet-conv1").text != PROBLEM.text


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be looked at" * 40, b"SQLite format 3\0x"]
)
def test_a_damaged_file_is_named(history_path, content):
    history_path.write_bytes(content)
    with pytest.raises(InputError, match=r"history\.sqlite"):
        History()
    assert history_path.read_bytes() == content


def test_a_file_damaged_inside_is_named(history_path):
    with History() as history:
        run = begin(history)
        for _ in range(50):
            history.add(run, PROBLEM, PASSED)
    content = bytearray(history_path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    history_path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"history\.sqlite"):
        lab.records()


def test_another_programs_database_is_left_alone(history_path):
    with sqlite3.connect(history_path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = history_path.read_bytes()
    with pytest.raises(InputError, match="rooftile made; this one is not"):
        History()
    assert history_path.read_bytes() == before


def test_a_newer_schema_is_left_alone(history_path):
    History().close()
    newer = sqlite3.connect(history_path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(InputError, match=r"history\.sqlite of version 99.*newer rooftile"):
        History()


def test_a_directory_in_its_place_is_named(history_path):
    history_path.mkdir()
    with pytest.raises(InputError, match=r"history\.sqlite"):
        History()


def test_older_databases_are_brought_up_to_date(history_path, monkeypatch):
    newest = _database.MIGRATIONS
    for version in range(1, len(newest)):
        history_path.unlink(missing_ok=True)
        monkeypatch.setattr(_database, "MIGRATIONS", newest[:version])
        with History() as history:
            history.add(begin(history), PROBLEM, PASSED)
        monkeypatch.setattr(_database, "MIGRATIONS", newest)
        with History() as history:
            (record,) = history.records()
            assert record.to_row() == PASSED
            assert history.rows("PRAGMA user_version") == [(len(newest),)]
            assert history.rows("SELECT count(*) FROM winners") == [(0,)]


def test_a_failed_migration_changes_nothing(history_path, monkeypatch):
    newest = _database.MIGRATIONS
    monkeypatch.setattr(_database, "MIGRATIONS", newest[:1])
    History().close()
    monkeypatch.setattr(_database, "MIGRATIONS", (newest[0], ("CREATE TABLE half (x)", "nonsense")))
    with pytest.raises(InputError, match=r"history\.sqlite"):
        History()
    monkeypatch.setattr(_database, "MIGRATIONS", newest)
    with History() as history:
        assert history.rows("SELECT name FROM sqlite_master WHERE name = 'half'") == []


def _writer(path, strategy, count, start):
    start.wait()
    with History(path) as history:
        run = begin(history)
        for number in range(count):
            row = dataclasses.replace(PASSED, strategy=strategy, config={"N": number})
            history.add(run, PROBLEM, row)


def test_many_processes_write_at_once(history_path):
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    arguments = [(history_path, f"writer{n}", 40, start) for n in range(4)]
    writers = [context.Process(target=_writer, args=given) for given in arguments]
    for writer in writers:
        writer.start()
    start.set()  # All make the database at the same time.
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0] * 4
    with History() as history:
        assert history.rows("PRAGMA integrity_check") == [("ok",)]
        for n in range(4):
            found = history.records(strategy=f"writer{n}")
            assert [record.config["N"] for record in found] == list(range(40))


@settings(max_examples=20)
@given(samples=st.lists(st.floats(1e-6, 1e6), max_size=300), seed=st.integers(0, 2**31))
def test_samples_survive_to_the_bit(tmp_path_factory, samples, seed):
    path = tmp_path_factory.mktemp("samples") / "h.sqlite"
    timing = dataclasses.replace(TIMING, samples=tuple(samples))
    with History(path) as history:
        run = begin(history, seed=seed)
        history.add(run, PROBLEM, dataclasses.replace(PASSED, time_ms=timing))
        (record,) = history.records()
    assert (record.samples, record.seed) == (tuple(samples), seed)


def test_what_older_configs_say_of_storage_is_no_tunable():
    given = {field.name: None for field in dataclasses.fields(Record)}
    row = {"config": {"TILE": 8, "X_NARROW": 0, "OUT_LAST": 0}}
    assert Record(**{**given, "row": row}).config == {"TILE": 8}
