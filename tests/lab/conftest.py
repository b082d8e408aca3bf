from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def all_judged_here(judged_here):
    """Tests of the laboratory replace what its contests call."""
