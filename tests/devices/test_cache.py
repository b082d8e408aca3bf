"""Where rooftile keeps its files: where `platformdirs` says, also where that is not asked."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from rooftile.devices import cache


@pytest.fixture(autouse=True)
def nobody_asked(monkeypatch):
    for name in ("ROOFTILE_CACHE", "ROOFTILE_HISTORY", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    cache._history_file.cache_clear()
    yield
    cache._history_file.cache_clear()


@pytest.mark.parametrize("named", [None, "", " ", "/elsewhere", "/with a space "])
def test_directories_are_those_of_platformdirs(monkeypatch, named):
    if named is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        monkeypatch.setenv("XDG_DATA_HOME", named)
    assert cache.cache_directory() == Path(platformdirs.user_cache_dir("rooftile"))
    data = Path(platformdirs.user_data_dir("rooftile"))
    assert cache.history_file() == data / "history.sqlite"


def test_other_systems_have_their_own_rule(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name: f"/Library/Caches/{name}")
    assert cache.cache_directory() == Path("/Library/Caches/rooftile")


def test_the_environment_names_both(monkeypatch):
    monkeypatch.setenv("ROOFTILE_CACHE", "/mine")
    monkeypatch.setenv("ROOFTILE_HISTORY", "/mine/records.sqlite")
    assert cache.cache_directory() == Path("/mine")
    assert cache.history_file() == Path("/mine/records.sqlite")
