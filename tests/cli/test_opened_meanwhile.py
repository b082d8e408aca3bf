"""A GPU is opened while data are read."""

from __future__ import annotations

import threading

import pytest

from rooftile.cli._training import opened_meanwhile
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
    with opened_meanwhile("cuda:1"):
        pass
    ((device, thread),) = opened
    assert device == "cuda:1"
    assert thread is not threading.current_thread()
    assert not thread.is_alive()


def test_the_cpu_needs_no_opening(monkeypatch):
    opened = []
    monkeypatch.setattr(select, "open_gpu", opened.append)
    with opened_meanwhile("cpu"):
        pass
    assert not opened
