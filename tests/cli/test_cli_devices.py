from __future__ import annotations

import importlib.util


def test_devices_shows_the_cpu_and_what_is_missing(call, known_roof, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pyopencl" else found(name)
    )
    code, out, err = call("devices")
    assert code == 0, err
    assert out.startswith("cpu: ")
    assert "200.0" in out
    assert 'pip install "rooftile[opencl]"' in out
    assert max(map(len, out.splitlines())) <= 80


def test_devices_json(call_json, known_roof):
    found = call_json("devices")
    assert [device["kind"] for device in found["devices"]] == ["cpu", "cuda", "opencl"]
    assert [device["available"] for device in found["devices"]] == [True, False, False]
    assert found["ceilings"]["all_cores"]["fma_gflops"] == 200
    assert found["environment"]["cores"] >= 1
