"""A GPU is opened while data are read."""

from __future__ import annotations

import sys
import threading

import pytest

from rooftile.cli.render.training import opened_meanwhile
from rooftile.devices import select
from rooftile.errors import DeviceMissing


@pytest.mark.parametrize("missing", [False, True])
def test_a_gpu_is_opened_by_another_thread(monkeypatch, missing):
    opened = []

    def open_gpu(device):
        opened.append((device, threading.current_thread()))
        if missing:
            raise DeviceMissing("a GPU", "one")

    monkeypatch.setattr(select, "open_gpu", open_gpu)
    turn = sys.getswitchinterval()
    with opened_meanwhile("cuda:1") as then:
        assert sys.getswitchinterval() < turn
        assert not opened
        then(lambda: None)
    ((device, thread),) = opened
    assert device == "cuda:1"
    assert sys.getswitchinterval() == turn
    assert thread is not threading.current_thread()


@pytest.mark.parametrize("fails", [False, True])
def test_what_comes_behind_is_not_waited_for(monkeypatch, fails):
    opened, left, done = [], threading.Event(), threading.Event()

    def behind():
        assert left.wait(10)
        done.set()
        if fails:
            raise DeviceMissing("a GPU", "one")

    monkeypatch.setattr(select, "open_gpu", opened.append)
    with opened_meanwhile("cuda") as then:
        then(behind)
    assert opened == ["cuda"]
    assert not done.is_set()
    left.set()
    assert done.wait(10)


def test_the_cpu_needs_no_opening(monkeypatch):
    opened = []
    monkeypatch.setattr(select, "open_gpu", opened.append)
    with opened_meanwhile("cpu") as then:
        then(lambda: opened.append("cpu"))
    assert not opened
