from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def all_quick_and_here(quick, judged_here):
    """Times are not what these tests look at."""
