"""When checkpoints are written, and by whom."""

from __future__ import annotations

import errno
import threading

import numpy as np
import pytest

import rooftile
from rooftile.nn import LinearLayer, Network
from rooftile.nn.tensors import read_tensors
from rooftile.nn.training import checkpoint
from rooftile.nn.training.checkpoint import Keeper, RunIdentity
from rooftile.nn.training.optimisers import optimiser
from rooftile.nn.training.options import TrainingOptions
from rooftile.nn.training.state import State

OPTIONS = TrainingOptions()
NETWORK = Network([LinearLayer("only", 2)], 3).initialise(0)
DATA = np.zeros((4, 3), np.float32), np.zeros(4, np.int64)


@pytest.fixture
def state():
    parameters = {key: value.copy() for key, value in NETWORK.parameters.items()}
    return State(parameters, optimiser(OPTIONS, parameters), np.random.default_rng(0))


@pytest.fixture
def keeper(state, tmp_path):
    return Keeper(tmp_path / "c", RunIdentity.of(NETWORK, OPTIONS, *DATA), state)


@pytest.fixture
def written(monkeypatch):
    """Each file's parameters, and the thread that wrote it, once ``may`` is set."""
    found, may, write = [], threading.Event(), checkpoint.write_tensors

    def noted(path, tensors, metadata):
        assert may.wait(10)
        found.append((tensors["parameters.only.bias"].copy(), threading.current_thread()))
        write(path, tensors, metadata)

    monkeypatch.setattr(checkpoint, "write_tensors", noted)
    return found, may


def test_an_epochs_end_is_written_by_another_thread_as_it_was(keeper, state, written, tmp_path):
    found, may = written
    state.epoch = 1
    keeper.offer()
    state.parameters["only.bias"] += 1
    state.epoch = 2
    assert not found
    may.set()
    keeper.keep()
    (first, thread), (second, _) = found
    assert thread is not threading.current_thread()
    assert (first == 0).all()
    assert (second == 1).all()
    assert (read_tensors(tmp_path / "c")[0]["parameters.only.bias"] == 1).all()


def test_a_state_is_written_once(keeper, state, written):
    found, may = written
    may.set()
    keeper.offer()
    keeper.keep()
    keeper.keep()
    assert len(found) == 1
    state.step = 1
    keeper.offer()
    assert len(found) == 1
    with pytest.raises(KeyboardInterrupt), keeper:
        raise KeyboardInterrupt
    assert len(found) == 2


def test_what_fails_there_is_told_by_the_next_call(keeper, state, monkeypatch):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(checkpoint, "write_tensors", full)
    keeper.offer()
    with pytest.raises(OSError, match="no space"):
        keeper.keep()


def test_a_full_disk_ends_no_run(keeper, state, monkeypatch, tmp_path):
    write, full = checkpoint.write_tensors, [OSError(errno.ENOSPC, "no space left")]

    def sometimes(*given):
        if full:
            raise full.pop()
        write(*given)

    monkeypatch.setattr(checkpoint, "write_tensors", sometimes)
    state.epoch = 3
    keeper.offer()
    with pytest.warns(rooftile.RooftileWarning, match="no checkpoint: .*no space left"):
        keeper.keep()
    # There was room again.
    assert '"epoch": 3' in read_tensors(tmp_path / "c")[1]["state"]


def test_data_tell_runs_apart():
    same, other = (
        RunIdentity.of(NETWORK, OPTIONS, *data) for data in (DATA, (DATA[0] + 1, DATA[1]))
    )
    assert same.identity() == RunIdentity.of(NETWORK, OPTIONS, *DATA).identity()
    assert same.identity() != other.identity()
