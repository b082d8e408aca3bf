"""What a page shows of a training: curves, and a timeline of its first steps."""

from __future__ import annotations

import json

import pytest

from rooftile.errors import InputError
from rooftile.lab.report import page, read_files
from rooftile.lab.report.sources import content
from rooftile.lab.report.training import figures

PHASES = ("forward", "backward", "update")


def trained(*, held_out=True, steps=5):
    """An object as train prints it."""
    epochs = [
        {
            "epoch": number + 1,
            "loss": 1 / (number + 1),
            "holdout_loss": abs(number - 2) + 0.5 if held_out else None,
            "holdout_accuracy": 0.5 + number / 10 if held_out else None,
        }
        for number in range(4)
    ]
    timeline = [
        {"phase": phase, "layer": "h" if k < 2 else "", "start_ms": 10.0 * step + k, "ms": 0.9}
        for step in range(steps)
        for k, phase in enumerate(PHASES)
    ]
    told = {"calls": steps, "average_ms": 0.9, "least_ms": 0.8, "most_ms": 1.0, "share": 1 / 3}
    phases = [
        {"phase": phase, "layer": "h" if k < 2 else "", **told} for k, phase in enumerate(PHASES)
    ]
    return {
        "model": "mlp",
        "device": "cuda",
        "options": {"optimiser": "sgd", "batch": None, "precision": "bf16"},
        "epochs": epochs,
        "seconds": 2.5,
        "profile": {"phases": phases, "timeline": timeline if steps else []},
        "environment": {"cpu": "Some Processor", "time": "2026-11-21T11:02:19+00:00"},
    }


def test_curves_and_timeline_of_a_training():
    (run,) = content(trained()).trainings
    losses, accuracy, timeline = figures(run)
    assert "least after epoch 3" in losses.caption
    assert losses.picture.count('class="curve"') == losses.picture.count("curve held") == 3
    assert [name for _, name in losses.legend] == ["trained on", "held out"]
    assert losses.table.rows[1][1] == ("2", "0.50000", "1.5000")
    assert "80.00 %" in accuracy.caption
    # Three steps of the five, each phase once in each.
    assert [strip.name for strip in timeline.strips] == list(PHASES)
    assert all(strip.track.count('class="bar ieee"') == 3 for strip in timeline.strips)
    assert timeline.table.rows[0][1][:4] == ("forward", "h", "33 %", "5")


def test_nothing_held_out_and_no_profile_leave_the_losses_alone():
    (run,) = content(trained(held_out=False, steps=0)).trainings
    (losses,) = figures(run)
    assert not losses.legend
    assert "curve held" not in losses.picture


def test_a_page_has_a_part_for_each_training(tmp_path):
    file = tmp_path / "t.json"
    file.write_text(json.dumps(trained()), encoding="utf-8")
    found = read_files([file, file])
    text = page(found)
    assert text.count('id="training-') >= 2
    assert "Where the time goes" in text
    assert "sgd, batch everything, precision bf16" in text
    assert not found.only(None, "cpu")


def test_a_training_without_an_epoch_is_told(tmp_path):
    file = tmp_path / "t.json"
    file.write_text(json.dumps({**trained(), "epochs": []}), encoding="utf-8")
    with pytest.raises(InputError, match="without an epoch"):
        read_files([file])
