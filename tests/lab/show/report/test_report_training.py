"""What a page shows of a training: curves, and a timeline of its first steps."""

from __future__ import annotations

import json

import pytest

from rooftile.errors import InputError
from rooftile.lab.show.report import page, read_files
from rooftile.lab.show.report.sources import content
from rooftile.lab.show.report.training import figures

from .report_cases import PHASES, trained


def test_curves_and_timeline_of_a_training():
    (run,) = content(trained()).trainings
    losses, accuracy, timeline = figures(run)
    assert "least after epoch 3" in losses.caption
    assert losses.picture.count('class="curve"') == losses.picture.count("curve held") == 3
    assert [f">{epoch}</text>" in losses.picture for epoch in (1, 4, 5)] == [True, True, False]
    assert ">epoch</text>" in losses.picture
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
