"""Rungs on a processor that OpenCL drives are judged in a child process."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

import pytest

from rooftile.lab.measure import apart
from rooftile.lab.measure import climb as lab
from rooftile.lab.measure.history.store import History
from rooftile.lab.measure.process import CannotSend, Child, Ended
from rooftile.lab.measure.tune import search as tuning
from rooftile.ops import parse
from tests.support.climbed import SHAPE

from .ending_rungs import Ends, EndsWhereTold, Right, answer, fail, leave

PROBLEM = parse("conv2d", SHAPE, 2)


@pytest.fixture
def child():
    with Child() as opened:
        yield opened


@pytest.fixture
def cpu_device(opencl_device, known_roof, monkeypatch):
    if opencl_device.description.gpu:
        pytest.skip("its kernels run on a GPU")
    for module in (lab, tuning):
        monkeypatch.setattr(module, "runs_apart", apart.runs_apart)
    return opencl_device


def test_one_child_answers_until_it_ends(child):
    heard = []
    first, value = child.call(answer, 5, hear=heard.append)
    assert (value, heard) == (5, ["asked"])
    assert first != os.getpid()
    with pytest.raises(ValueError, match="no such thing"):
        child.call(fail, hear=heard.append)
    assert child.call(answer, 6, hear=heard.append) == (first, 6)
    with pytest.raises(Ended, match="exit code 3"):
        child.call(leave, hear=heard.append)
    assert child.call(answer, 7, hear=heard.append)[0] != first


def test_what_a_child_cannot_import_is_not_sent(child):
    with pytest.raises(CannotSend):
        child.call(lambda say: None, hear=print)


def test_an_interrupt_ends_the_child(child):
    def interrupt(said):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        child.call(answer, 1, hear=interrupt)
    assert child._running is None


def test_other_devices_run_no_rung_in_our_process():
    def device(kind, gpu):
        return SimpleNamespace(kind=kind, description=SimpleNamespace(gpu=gpu))

    assert apart.runs_apart(device("opencl", False))
    assert not apart.runs_apart(device("opencl", True))
    assert not apart.runs_apart(device("cuda", True))
    assert not apart.runs_apart(SimpleNamespace(kind="cpu"))


def test_a_crash_is_a_row_and_all_other_rows_stay(cpu_device):
    came = []
    rungs = [(Right(), None), (Ends(), None), (Right(), None)]
    found = lab.climb_problem(PROBLEM, cpu_device, rungs, found=came.append)
    assert [row.status for row in found.rows] == ["passed", "error", "passed"]
    assert [row.cause for row in found.rows] == ["", "crashed", ""]
    assert signal.SIGSEGV.name in found.rows[1].reason
    assert tuple(came) == found.rows


def test_rows_that_came_before_an_interrupt_are_kept(cpu_device):
    def interrupt(row):
        raise KeyboardInterrupt

    found = lab.climb_problem(
        PROBLEM, cpu_device, [(Ends(), None), (Right(), None)], found=interrupt
    )
    assert [row.cause for row in found.rows] == ["crashed", "interrupted"]
    assert found.interrupted


def test_configs_that_crash_are_left_out_of_those_in_turns(cpu_device):
    rung = EndsWhereTold()
    default = rung.config(PROBLEM)
    tunable = rung.tunables[0]
    other = next(value for value in tunable.values if value != default[tunable.name])
    picks = [(rung, default), (rung, {tunable.name: other}), (rung, default)]
    rules = apart.Rules(PROBLEM, "opencl:0", neighbours=False)
    with apart.Apart(rules) as judge:
        rows = judge.rows(picks)
    assert [row.cause for row in rows] == ["", "crashed", ""]
    assert [row.status for row in rows] == ["passed", "error", "passed"]


def test_a_search_goes_on_after_a_config_that_crashes(cpu_device, history_path):
    rung = EndsWhereTold()
    tunable = rung.tunables[0]
    with History() as history:
        search = tuning.Search(PROBLEM, rung, cpu_device, history)
        values = [value for value in tunable.values if value != search.default[tunable.name]]
        found = list(search.each([{tunable.name: value} for value in values[:2]]))
        assert [trial.row.cause for trial in found] == ["crashed", "crashed"]
        assert {record.row["cause"] for record in history.records()} == {"crashed"}
