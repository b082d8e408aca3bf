"""What the tests of networks share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def all_plainly_compiled(plainly_compiled):
    """Networks and trainings on OpenCL: rungs' own tests have their texts optimised."""
