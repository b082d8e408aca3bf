"""Where the cases of a course's labs lie: ``ROOFTILE_COURSE_LABS``, or beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / ".." / "shared" / "course-labs"


def cases_of(lab: str) -> list[Path]:
    """The folders of a lab's cases.  Skips where there are none."""
    folder = Path(os.environ.get("ROOFTILE_COURSE_LABS") or _BESIDE) / lab
    if not folder.is_dir():
        pytest.skip(f"no folder {lab} in ROOFTILE_COURSE_LABS, nor in ../shared/course-labs")
    return sorted(folder.iterdir())
