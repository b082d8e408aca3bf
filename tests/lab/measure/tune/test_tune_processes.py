"""Searches of tunables in processes: one that is killed, and two at once."""

from __future__ import annotations

import multiprocessing
import random
import time

import pytest

from rooftile.lab.measure.history.store import History
from rooftile.lab.measure.tune.search import Search

from .tuning_child import LARGER, PROBLEM, tune

pytestmark = pytest.mark.alone

CONTEXT = multiprocessing.get_context("spawn")


def start_child(path, log, go=None):
    """A child that is about to search; with ``go``, once that is set."""
    ready = CONTEXT.Event()
    child = CONTEXT.Process(target=tune, args=(path, log, ready, go))
    child.start()
    while not ready.wait(0.1):
        assert child.is_alive(), "the child's own error is above"
    return child


def test_a_kill_at_any_moment_loses_no_finished_sample(
    history_path, tmp_path, opencl_device, monkeypatch
):
    # What a kill leaves in the compiler's cache stays among the test's own.
    monkeypatch.setenv("ROOFTILE_CACHE", str(tmp_path / "cache"))
    log, moments = tmp_path / "log", random.Random(5)
    log.touch()
    killed = 0
    for _ in range(3):
        child = start_child(history_path, log)
        wanted = len(log.read_text().split()) + moments.randint(0, 2)
        while child.is_alive() and len(log.read_text().split()) < wanted:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.2))
        killed += child.is_alive()
        child.kill()
        child.join()
        with History() as history:
            assert history.rows("PRAGMA integrity_check") == [("ok",)]
            kept = {record.fingerprint for record in history.records(status="passed")}
        assert set(log.read_text().split()) <= kept
    assert killed == 3
    child = start_child(history_path, log)
    child.join(120)
    assert child.exitcode == 0
    with History() as history:
        search = Search(PROBLEM, LARGER, opencl_device, history)
        names = {search.name(config) for config in search.programs()}
        found = [record.fingerprint for record in history.records(status="passed")]
    # Nothing lost, nothing measured twice.
    assert set(found) == names
    assert len(found) == len(names)


def test_two_at_once_corrupt_nothing_and_share_the_work(history_path, tmp_path, opencl_device):
    logs, go = [tmp_path / "first", tmp_path / "second"], CONTEXT.Event()
    second = start_child(history_path, logs[1], go)
    first = start_child(history_path, logs[0])
    while first.is_alive() and (not logs[0].exists() or len(logs[0].read_text().split()) < 3):
        time.sleep(0.001)
    kept = logs[0].read_text().split()
    go.set()
    for child in (first, second):
        child.join(120)
        assert child.exitcode == 0
    with History() as history:
        assert history.rows("PRAGMA integrity_check") == [("ok",)]
        search = Search(PROBLEM, LARGER, opencl_device, history)
        names = {search.name(config) for config in search.programs()}
        records = history.records(status="passed")
        tried = [log.read_text().split() for log in logs]
        assert sorted(record.fingerprint for record in records) == sorted(tried[0] + tried[1])
        assert set(tried[0]) | set(tried[1]) == names
        # What one had kept before the other began is not measured again; what both begin at the
        # same moment may be.
        assert len(kept) >= 3
        assert not set(kept) & set(tried[1])
        assert all(record.to_row().time_ms for record in records)
