"""Cases that want a GPU that is missing are left out, unless they are asked for."""

from types import SimpleNamespace

import pytest

from tests.support import gpus

DEVICES = ("opencl-cpu", "opencl-gpu", "cuda")


@pytest.fixture
def collected(monkeypatch):
    """What is left of a case for each device and one by `cuda_device`, and what was left out."""

    def collect(missing, markexpr=""):
        monkeypatch.setattr(gpus, "why_none", lambda name: missing.get(name, ""))
        items = [item(name, ["device"], device=name) for name in DEVICES]
        items += [item("fixture", ["cuda_device"]), item("none", [], device="cpu")]
        left_out = []
        hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
        stash = pytest.Stash()
        option = SimpleNamespace(markexpr=markexpr)
        config = SimpleNamespace(stash=stash, hook=hook, option=option)
        gpus.pytest_configure(config)
        gpus.pytest_collection_modifyitems(config, items)
        return [i.name for i in items], [i.name for i in left_out], dict(stash[gpus._LEFT_OUT])

    return collect


def item(name, fixturenames, **params):
    callspec = SimpleNamespace(params=params)
    return Item(name=name, fixturenames=fixturenames, callspec=callspec)


class Item(SimpleNamespace):
    __hash__ = object.__hash__

    def add_marker(self, mark):
        assert mark.name == "gpu"


def test_all_run_where_all_are_there(collected):
    assert collected({}) == ([*DEVICES, "fixture", "none"], [], {})


def test_the_reasons_are_counted(collected):
    missing = {"cuda": "no driver", "opencl-gpu": "a CPU"}
    names = (["opencl-cpu", "none"], ["opencl-gpu", "cuda", "fixture"])
    assert collected(missing) == (*names, {"no driver": 2, "a CPU": 1})


def test_each_is_gone_through_where_gpus_are_asked_for(collected):
    assert collected({"cuda": "no driver"}, "gpu") == ([*DEVICES, "fixture", "none"], [], {})
