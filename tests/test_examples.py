"""The examples run, and say what they promise."""

from __future__ import annotations

import importlib.util
import re
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
SAYS = {
    "own_network": r"[6-9]\d% of 200 images",
    "own_images": r"(100|9\d)% of 100 signs are right",
    "judged_kernel": r"softmax: passed\ncareless: failed\n  ",
    "first_climb": r"rows +[\d.]+ ms +\d+% of the roof",
    "inside_pytorch": r"\(64, 1152\) on \w+, at most [\d.]+e-0[6-9]",
}
NEEDS = {"inside_pytorch": "torch"}


@pytest.mark.parametrize("name", SAYS)
def test_examples_say_what_they_promise(name, capsys, quick, quick_audits):
    needed = NEEDS.get(name)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert re.search(SAYS[name], capsys.readouterr().out)


def test_every_example_is_tried():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(SAYS)
