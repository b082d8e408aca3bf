"""The cases of a course's lab on 3D convolution, where ROOFTILE_COURSE_LABS names their folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest


def cases():
    """Volume, mask and expected result of each case.  Skips where there is no folder."""
    folder = Path(os.environ.get("ROOFTILE_COURSE_LABS", "")) / "conv3d"
    if not os.environ.get("ROOFTILE_COURSE_LABS") or not folder.is_dir():
        pytest.skip("ROOFTILE_COURSE_LABS names no folder with the course's labs")
    for case in sorted(folder.iterdir()):
        x, expected = (_volume(case / name) for name in ("input.dat", "output.dat"))
        mask = _numbers(case / "kernel.dat").reshape(3, 3, 3)
        yield x, mask, expected


def _numbers(path):
    """The numbers behind the first, which is their count."""
    return np.array(path.read_text().split()[1:], np.float64).astype(np.float32)


def _volume(path):
    numbers = _numbers(path)
    return numbers[3:].reshape(*numbers[:3].astype(int))
