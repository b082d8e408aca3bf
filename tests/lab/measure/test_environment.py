from __future__ import annotations

import datetime
import importlib.metadata

import numpy as np

import rooftile
from rooftile.devices import ceilings
from rooftile.lab.measure import environment as lab


def test_it_names_what_a_measurement_depends_on():
    found = lab.environment()
    assert datetime.datetime.fromisoformat(found.time).tzinfo is not None
    assert found.cpu
    assert found.cores >= 1
    assert found.vector_lanes in (8, 16)
    assert found.memory_gib > 0
    assert found.numpy == np.__version__
    assert found.rooftile == rooftile.__version__
    assert found.blas != "unknown"


def test_source_that_is_not_installed_says_so(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert ceilings.package_version() == "uninstalled"


def test_a_system_without_git_has_no_revision(monkeypatch):
    def absent(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(lab.subprocess, "run", absent)
    assert lab._revision.__wrapped__() is None


def test_the_processor_without_proc(monkeypatch):
    monkeypatch.setattr(ceilings, "Path", lambda *_: _Unreadable())
    assert ceilings.cpu_name.__wrapped__()


class _Unreadable:
    def read_text(self, **_):
        raise OSError
