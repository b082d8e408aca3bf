"""Where `rooftile train` writes: nothing that the run did not make is replaced unasked."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.nn import LinearLayer, Network, load
from tests.support.training_tables import generated


@pytest.fixture
def folder(tmp_path, monkeypatch, data):
    """A folder with a network whose file has not the network's name, and another's of that name."""
    monkeypatch.chdir(tmp_path)
    network = Network("inner", (1, 28, 28), (LinearLayer("last", 10),)).initialise(0)
    network.save("mine.safetensors")
    network.initialise(1).save("inner.safetensors")
    x, labels = generated(40)
    np.savetxt("table.csv", np.column_stack([x, labels]), delimiter=",")
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


TRAIN = ("--data", "data", "--epochs", 1, "--batch", 20)
MLP = ("train", "mlp", "--hidden", "2", "--data", "table.csv", "--epochs", 2, "--batch", 10)


def test_the_default_is_the_models_own_file(call, folder):
    before = contents(folder)
    code, _, err = call("train", "mine.safetensors", *TRAIN)
    assert code == 2
    assert "mine.safetensors, which exists" in err
    assert "--overwrite" in err
    assert contents(folder) == before
    code, out, err = call("train", "mine.safetensors", *TRAIN, "--overwrite")
    assert code == 0, err
    after = contents(folder)
    assert {name for name in after if after[name] != before.get(name)} == {
        "mine.safetensors", "mine.safetensors.checkpoint",
    }  # fmt: skip
    assert "wrote mine.safetensors" in out


@pytest.mark.parametrize(
    ("words", "name"),
    [(("train", "mnist8", *TRAIN), "mnist8.safetensors"), (MLP, "mlp.safetensors"),
     ((*MLP, "--out", "inner.safetensors"), "inner.safetensors")],
)  # fmt: skip
def test_a_file_of_another_run_stays(words, name, call, folder):
    (folder / name).write_bytes(b"98.99 %")
    before = contents(folder)
    code, _, err = call(*words)
    assert (code, contents(folder)) == (2, before)
    assert f"{name}, which exists" in err
    # Nor is it lost where somebody goes on from no checkpoint of it.
    code, _, err = call(*words, "--resume")
    assert (code, contents(folder)) == (2, before)


def test_a_checkpoint_of_another_run_stays(call, folder):
    (folder / "new.checkpoint").write_bytes(b"a week of work")
    before = contents(folder)
    code, _, err = call(*MLP, "--out", "new")
    assert (code, contents(folder)) == (2, before)
    assert "new.checkpoint" in err
    assert "--resume" in err
    assert call(*MLP, "--out", "new", "--overwrite")[0] == 0


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_a_finished_run_goes_on_to_more_epochs(schedule, call, call_json, folder):
    more = ("--schedule", schedule, "--out", "net", "--epochs")
    assert call(*MLP, *more, 2)[0] == 0
    # Its own result, with the same epochs or with more, is its own to replace.
    assert call(*MLP, *more, 2, "--resume")[0] == 0
    found = call_json(*MLP, *more, 5, "--resume")
    assert [epoch["epoch"] for epoch in found["epochs"]] == [3, 4, 5]
    if schedule == "constant":
        assert call(*MLP, *more, 5, "--out", "whole")[0] == 0
        for name, value in load("whole").parameters.items():
            np.testing.assert_array_equal(load("net").parameters[name], value)
    code, _, err = call(*MLP, *more, 3, "--resume")
    assert (code, "at least 5" in err) == (2, True)


def test_the_result_of_another_run_beside_a_checkpoint_stays(call, folder):
    assert call(*MLP, "--out", "net")[0] == 0
    assert call(*MLP, "--out", "other", "--learning-rate", 0.2)[0] == 0
    (folder / "net").write_bytes((folder / "other").read_bytes())
    before = contents(folder)
    code, _, err = call(*MLP, "--out", "net", "--resume")
    assert (code, contents(folder)) == (2, before)
    assert "did not make" in err
    assert call(*MLP, "--out", "net", "--resume", "--overwrite")[0] == 0


@pytest.mark.parametrize("spelled", ["--optimizer", "--optimiser"])
def test_the_optimizer_may_be_spelled_as_it_was(spelled, call_json, folder):
    found = call_json(*MLP, "--out", "net", spelled, "adam")["options"]
    assert found["optimizer"] == found["optimiser"] == "adam"
