"""What the tests of several operations' rungs share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def all_plainly_compiled(plainly_compiled):
    """Of the tests of rungs, those alone that ask for it have texts ``optimised``."""


@pytest.fixture(scope="session")
def hopper(cuda_device):
    """A GPU with warpgroups of sm_90."""
    architecture = cuda_device.description.architecture
    if architecture != "sm_90":
        pytest.skip(f"{architecture} has no warpgroups of sm_90")
    return cuda_device
