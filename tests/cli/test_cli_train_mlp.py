"""`rooftile train mlp` from a table to a judged network."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.nn import load
from tests.support.training_tables import generated


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, rows, seed in (("train", 400, 0), ("test", 90, 1)):
        x, labels = generated(rows, seed)
        np.savetxt(folder / f"{name}.csv", np.column_stack([x, labels]), delimiter=",")
    return folder


def words(tables, out, *more):
    return (
        "train", "mlp", "--hidden", "4,5,5", "--activations", "softmax,relu,tanh", "--output",
        "sigmoid", "--learning-rate", 0.02, "--data", tables / "train.csv", "--test",
        tables / "test.csv", "--out", out, *more,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_decks_command(call_json, tables, tmp_path, dtype):
    out = tmp_path / "mlp.safetensors"
    found = call_json(*words(tables, out, "--epochs", 300, "--dtype", dtype))
    assert found["accuracy"] > 0.97
    assert np.sum(found["confusion"]) == 90
    assert len(found["losses"]) == 300
    assert found["losses"][-1] < 0.1 * found["losses"][0]
    assert all(share > 0.9 for share in (*found["precision"], *found["recall"]))
    network = load(out)
    assert [layer.activation for layer in network.layers] == ["softmax", "relu", "tanh", "sigmoid"]
    assert len(network.standardisation.mean) == 4


def test_what_is_printed(call, tables, tmp_path):
    code, out, err = call(*words(tables, tmp_path / "m", "--epochs", 60, "--holdout", 50))
    assert code == 0
    for word in ("loss", "held-out loss", "predicted 0", "precision", "recall", "accuracy"):
        assert word in out
    assert "rows/s" in err
    assert "left" in err


def test_a_profile_tells_phases_and_layers(call_json, call, tables, tmp_path):
    more = ("--epochs", 4, "--batch", 20, "--profile")
    found = call_json(*words(tables, tmp_path / "m", *more))["profile"]
    phases = {(row["phase"], row["layer"]): row for row in found["phases"]}
    assert sum(row["share"] for row in phases.values()) == pytest.approx(1)
    assert phases["forward", "hidden1"]["calls"] == phases["update", ""]["calls"] == 4 * 20
    for row in phases.values():
        assert 0 < row["least_ms"] <= row["average_ms"] <= row["most_ms"]
    starts = [span["start_ms"] for span in found["timeline"]]
    assert starts == sorted(starts)
    _, out, _ = call(*words(tables, tmp_path / "m", *more, "--overwrite"))
    assert "backward" in out
    assert "average ms" in out


def test_ctrl_c_saves_and_resume_ends_with_the_same_bits(call, tables, tmp_path, monkeypatch):
    from rooftile.cli.render import training

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert call(*words(tables, whole, "--epochs", 30))[0] == 0

    def press(output, line):
        import signal

        # As a terminal does it: it is heard when the step is over.
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(training, "epoch_line", press)
        assert call(*words(tables, broken, "--epochs", 30))[0] == 130
    assert not broken.exists()
    assert call(*words(tables, broken, "--epochs", 30, "--resume"))[0] == 0
    for key, value in load(whole).parameters.items():
        np.testing.assert_array_equal(load(broken).parameters[key], value)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--activations", "relu"), "--activations"),
        (("--hidden", "4,x"), "--hidden"),
        (("--hidden", "4,0"), "--hidden"),
        (("--label", "kind"), "no header"),
        (("--loss", "hinge"), "hinge"),
        (("--test", "none.csv"), "none.csv"),
    ],
)
def test_wrong_usage_is_named(call, tables, tmp_path, more, message):
    code, _, err = call(*words(tables, tmp_path / "m", *more))
    assert code == 2
    assert message in err


def test_a_table_of_one_class_is_refused(call, tables, tmp_path):
    alone = tmp_path / "alone.csv"
    alone.write_text("1,2,3,4,0\n4,3,2,1,0\n")
    code, _, err = call(*words(tables, tmp_path / "m", "--data", alone))
    assert (code, "labels that are all 0" in err) == (2, True)
