"""What errors tell to install is what the package's extras install."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from rooftile.cli.commands import predict
from rooftile.devices.cuda import compile as cuda
from rooftile.devices.opencl import vendors
from rooftile.lab.measure.tune import sampler

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
WANTED = {
    item.partition(";")[0].strip()
    for items in PROJECT["optional-dependencies"].values()
    for item in items
}


@pytest.mark.parametrize(
    "hint",
    [cuda.INSTALL, vendors.INSTALL, predict.INSTALL, *sampler.PACKAGES.values()],
)
def test_hints_name_packages_with_their_versions(hint):
    named = re.findall(r'"([^"]+)"', hint) or [hint]
    assert set(named) <= WANTED
