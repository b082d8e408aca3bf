"""Searches of tunables: everything is tried once, and recorded at once."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from types import SimpleNamespace

import pytest

from rooftile.errors import DeviceMissing, InputError, UnsupportedProblem
from rooftile.lab.measure.history.store import History
from rooftile.lab.measure.records import Error, Row
from rooftile.lab.measure.tune import sampler as _sampler
from rooftile.lab.measure.tune import search as lab
from rooftile.lab.measure.tune.search import Search
from rooftile.ops import parse
from rooftile.runtime.selection.tuned import tunings
from rooftile.runtime.timing.host import timing_of
from rooftile.strategies import strategy
from rooftile.strategies.conv2d.gpu.rows import RowLocal

from .tuning_child import PROBLEM, STRATEGY

pytestmark = [
    pytest.mark.alone,
    pytest.mark.usefixtures("quick", "known_roof", "plainly_compiled"),
]

DIRECT = strategy("conv2d", "direct_tile", "opencl")


def tuned_config(device):
    where = device.description
    return tunings(PROBLEM, where.kind).config(STRATEGY, where.name)


@pytest.fixture
def history(history_path):
    with History() as opened:
        yield opened


@pytest.fixture
def search(history, opencl_device):
    def make(strategy=STRATEGY, problem=PROBLEM, **options):
        return Search(problem, strategy, opencl_device, history, **options)

    return make


def trials(search, *arguments):
    return list(search.run(*arguments)[1])


def forbidden(*_):
    raise AssertionError("nothing should be measured")


def faked(monkeypatch, time_of):
    """Rows of the time that ``time_of(strategy, config)`` tells, or of its reason."""

    def judged(self, judge, rungs):
        rows = []
        for rung, config in rungs:
            found, config = time_of(rung, config), dict(config or {})
            device = "opencl:0"
            if isinstance(found, str):
                lacked = "out of memory" if found.startswith("OutOfMemory") else "error"
                row = Row("strategy", rung.name, device, "ieee", "error", found, config)
                rows.append(dataclasses.replace(row, cause=lacked))
                continue
            timing = timing_of([1e-3 * found * (1 + 1e-4 * i) for i in range(20)])
            rows.append(
                Row("strategy", rung.name, device, "ieee", "passed", "", config,
                    Error(0, 0, 0), timing, gflops=1.0, gbps=1.0)
            )  # fmt: skip
        return tuple(rows)

    monkeypatch.setattr(Search, "_judged", judged)
    monkeypatch.setattr(Search, "_new_contest", lambda self, seed, neighbours: seed)


def test_every_program_is_verified_timed_and_recorded_once(
    search, history, opencl_device, monkeypatch
):
    one = search(seed=3)
    found = trials(one)
    assert {trial.row.status for trial in found} == {"passed"}
    assert not any(trial.resumed for trial in found)
    assert found[0].config == one.default
    # The row is 24 columns: spans of 32, 64 and 224 are one program.
    assert len(found) == 3 * 3 * 2
    records = history.records(command="tune")
    assert [record.config for record in records] == [dict(trial.config) for trial in found]
    assert len({record.fingerprint for record in records}) == len(found)
    for record, trial in zip(records, found, strict=True):
        assert (record.fingerprint, record.seed) == (one.name(trial.config), 3)
        assert record.to_row() == trial.row
        assert record.environment["device"]["driver"] == opencl_device.description.driver
        assert record.environment["device"]["libraries"]
    assert len({record.run for record in records}) == 1
    # A second call measures nothing.
    monkeypatch.setattr(Search, "_judged", forbidden)
    again = trials(search())
    assert all(trial.resumed for trial in again)
    assert [(t.config, t.row) for t in again] == [(t.config, t.row) for t in found]


def test_a_call_goes_on_where_one_ended(search, monkeypatch):
    faked(monkeypatch, lambda rung, config: 1.0)
    begun = search().run()[1]
    first = [next(begun) for _ in range(5)]
    begun.close()
    rest = trials(search())
    assert [trial.resumed for trial in rest] == [True] * 5 + [False] * 13
    assert [trial.config for trial in rest[:5]] == [trial.config for trial in first]


def test_another_driver_hardware_or_program_is_no_resumption(search, monkeypatch, opencl_device):
    faked(monkeypatch, lambda rung, config: 1.0)
    trials(search())
    description = opencl_device.description
    for changes in ({"driver": "other"}, {"name": "other"}, {"kind": "cuda"}):
        other = search()
        other.device = SimpleNamespace(description=dataclasses.replace(description, **changes))
        assert other.known() == {}
    assert search(problem=PROBLEM.with_batch(9)).known() == {}
    changed = type("Changed", (RowLocal,), {"text": STRATEGY.text + "\n#define MORE\n"})()
    assert not any(trial.resumed for trial in trials(search(changed)))


def test_what_lacked_memory_or_was_skipped_is_tried_again(search, monkeypatch):
    faked(monkeypatch, lambda rung, config: "OutOfMemory: the other process")
    assert len(trials(search())) == 18
    faked(monkeypatch, lambda rung, config: 1.0)
    assert not any(trial.resumed for trial in trials(search()))


class Treacherous(RowLocal):
    """Does not compile with 128 items, and is wrong with 256."""

    text = STRATEGY.text

    def macros(self, problem, config):
        found = super().macros(problem, config)
        if config["ITEMS"] == 128:
            found["CHANNELS"] = "1 +* 2"
        if config["ITEMS"] == 256:
            found["MASK_WIDTH"] = problem.mask[1] - 1
        return found


def test_an_older_record_without_a_cause_may_have_lacked_memory(search, history, monkeypatch):
    faked(monkeypatch, lambda rung, config: "CompileFailure: or what it was")
    trials(search())
    assert all(trial.resumed for trial in trials(search()))
    for number, text in history.rows("SELECT id, row FROM results"):
        row = json.loads(text)
        del row["cause"]
        history.write("UPDATE results SET row = ? WHERE id = ?", (json.dumps(row), number))
    assert search().known() == {}


def test_failures_are_recorded_as_what_they_are(search, history):
    found = trials(search(Treacherous()))
    by_items = {items: {t.row.status for t in found if t.config["ITEMS"] == items}
                for items in (64, 128, 256)}  # fmt: skip
    assert by_items == {64: {"passed"}, 128: {"error"}, 256: {"failed"}}
    causes = {(t.config["ITEMS"], t.row.cause) for t in found}
    assert causes == {(64, ""), (128, "compile"), (256, "wrong")}
    assert len(history.records(status="error")) == len(history.records(status="failed")) == 6
    assert all(trial.resumed for trial in trials(search(Treacherous())))


def test_a_launch_over_the_devices_limits_is_recorded(search, history):
    careless = type("Careless", (RowLocal,), {"text": STRATEGY.text, "invalid": lambda *_: None})
    (trial,) = search(careless()).each([{"ITEMS": 2**20}])
    assert (trial.row.status, trial.row.cause) == ("error", "unsupported")
    assert "threads a block where" in trial.row.reason
    assert [record.config["ITEMS"] for record in history.records()] == [2**20]


def test_what_the_strategy_forbids_is_skipped_with_its_reason(search, history):
    wide = parse("conv2d", "channels=1,height=9,width=20000,maps=1,mask=3x3")
    one = search(strategy("conv2d", "row_local", "opencl"), wide)
    (trial,) = one.each([{"SPAN": 16384}])
    assert (trial.row.status, trial.row.cause) == ("skipped", "unsupported")
    assert "memory" in trial.row.reason
    assert history.records() == []


def test_a_device_that_a_config_broke_ends_the_search(search, history, monkeypatch, opencl_device):
    faked(monkeypatch, lambda rung, config: "CUDAError: an illegal access")

    def broken():
        raise RuntimeError("the context is lost")

    one = search()
    one.device = SimpleNamespace(
        description=opencl_device.description, on=contextlib.nullcontext, synchronise=broken
    )
    with pytest.raises(DeviceMissing, match=r"illegal access.*the context is lost"):
        trials(one)
    assert len(history.records()) == 1
    assert len(one.known()) == 1


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_samplers_try_valid_programs_once(search, history, monkeypatch, sampler):
    faked(monkeypatch, lambda rung, config: 1.0 + config["BAND_ROWS"])
    one = search(DIRECT)
    found = trials(one, sampler, 25)
    assert found[0].config == one.default
    assert len({one.name(trial.config) for trial in found}) == len(found) == 25
    assert all(DIRECT.invalid(PROBLEM, trial.config) is None for trial in found)
    more = trials(search(DIRECT), sampler, 30)
    assert [trial.resumed for trial in more] == [True] * 25 + [False] * 5
    assert len(history.records()) == 30


def test_a_sampler_learns(search, monkeypatch):
    """TPE comes nearer to the best than chance does, which it is told of by every trial."""

    def time_of(rung, config):
        return 1.0 + sum(config.values())

    faked(monkeypatch, time_of)
    best = {}
    for sampler in ("random", "tpe"):
        with History(search()._history.path.with_name(f"{sampler}.sqlite")) as history:
            one = search(DIRECT)
            one._history = history
            best[sampler] = min(trial.median_ms for trial in trials(one, sampler, 60)[20:])
    assert best["tpe"] < best["random"]


def test_a_sampler_ends_where_nothing_is_new(search, monkeypatch):
    faked(monkeypatch, lambda rung, config: 1.0)
    monkeypatch.setattr(lab, "IN_VAIN", 200)
    assert len(trials(search(), "random", 100)) == 18


def test_auto_tries_all_of_a_small_space_and_samples_a_large_one(search, monkeypatch):
    faked(monkeypatch, lambda rung, config: 1.0)
    asked = []
    monkeypatch.setattr(lab, "Sampler", lambda *given: asked.append(given[0]))
    assert search().run("auto", 18)[0] == 18
    assert asked == []
    search().run("auto", 17)
    search(DIRECT).run("auto", 10**9)
    assert asked == ["tpe", "tpe"]
    assert search().run("exhaustive", 1)[0] == 18


@pytest.mark.parametrize(("name", "package"), [("gp", "torch"), ("tpe", "optuna")])
def test_a_missing_package_is_said(search, monkeypatch, name, package):
    found = _sampler.importlib.util.find_spec
    monkeypatch.setattr(
        _sampler.importlib.util, "find_spec", lambda one: None if one == package else found(one)
    )
    with pytest.raises(DeviceMissing, match=f"{package}.*'{name}' needs.*pip install.*{package}"):
        search().run(name)


@pytest.mark.parametrize("arguments", [("annealing",), ("auto", 0)])
def test_what_is_no_sampler_or_count_is_refused(search, arguments):
    with pytest.raises(InputError, match=r"sampler|trials"):
        search().run(*arguments)


def test_what_cannot_be_tuned_is_refused(search):
    with pytest.raises(InputError, match="tunables"):
        search(type("Fixed", (RowLocal,), {"tunables": (), "limits": lambda *_: None})())
    with pytest.raises(UnsupportedProblem, match="precision"):
        search(strategy("conv2d", "winograd", "opencl"))
    strided = parse("conv2d", "channels=1,height=9,width=9,maps=1,mask=3x3,stride=2x2")
    with pytest.raises(UnsupportedProblem, match="stride"):
        search(problem=strided)


def test_a_winner_on_real_launches(search, history, opencl_device):
    one = search()
    trials(one, "random", 4)
    crowned = one.crown((DIRECT, None))
    finals = history.records(command="final")
    assert [record.strategy for record in finals][-1] == "direct_tile"
    assert all(record.status == "passed" for record in finals)
    assert finals[0].fingerprint == one.name(one.default)
    # Three samples are too few for any verdict: the default stays.
    assert crowned.winner is crowned.default
    assert not crowned.preferred
    assert tuned_config(opencl_device) == one.default


def test_the_finals_are_on_fresh_inputs(search, monkeypatch):
    faked(monkeypatch, lambda rung, config: 1.0)
    seeds = []
    new = lambda self, seed, neighbours: seeds.append((seed, neighbours))  # noqa: E731
    monkeypatch.setattr(Search, "_new_contest", new)
    one = search(seed=11)
    trials(one)
    one.crown()
    # Each config is verified on the problem, a finalist on its neighbours too.
    assert seeds == [(11, False), (12, True)]


def test_a_config_beyond_doubt_faster_wins_and_is_used(search, monkeypatch, opencl_device):
    faked(monkeypatch, lambda rung, config: 0.5 if config["ITEMS"] == 128 else 1.0)
    one = search()
    trials(one)
    crowned = one.crown()
    assert crowned.winner.config["ITEMS"] == 128
    assert crowned.against_default.outcome == "faster"
    assert (crowned.against_pick, crowned.preferred) == (None, False)
    found = tuned_config(opencl_device)
    assert found == crowned.winner.config


def test_a_winner_that_is_no_faster_on_fresh_inputs_is_none(search, monkeypatch):
    faked(monkeypatch, lambda rung, config: 0.5 if config["ITEMS"] == 128 else 1.0)
    one = search()
    trials(one)
    faked(monkeypatch, lambda rung, config: 0.999 if config["ITEMS"] == 128 else 1.0)
    crowned = one.crown()
    assert crowned.winner is crowned.default
    assert crowned.winner.config == one.default


@pytest.mark.parametrize(("pick_ms", "preferred"), [(2.0, True), (1.001, False), (0.5, False)])
def test_preferred_is_only_what_beats_the_pick(search, monkeypatch, pick_ms, preferred):
    faked(monkeypatch, lambda rung, config: 1.0 if rung is STRATEGY else pick_ms)
    one = search()
    trials(one)
    assert one.crown((DIRECT, None)).preferred == preferred


def test_nothing_that_passes_is_an_error(search, monkeypatch):
    faked(monkeypatch, lambda rung, config: 1.0)
    one = search()
    trials(one)
    faked(monkeypatch, lambda rung, config: "no such kernel")
    with pytest.raises(InputError, match="no such kernel"):
        one.crown()
