"""Texts whose threads race are found, by whichever detector there is."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices.gpu import Launch
from rooftile.lab.audit import Foreign, audit
from rooftile.lab.audit.checks import races
from rooftile.lab.audit.checks.races import look_for_races
from rooftile.lab.audit.findings import Findings
from rooftile.lab.emulation import missing
from rooftile.ops.patterns.scan import Scan

from .verdicts import KERNELS

LAUNCH = "grid=1 block=64 args=x,y,x_size"
emulated = pytest.mark.skipif(missing() != "", reason=f"CUDA texts on the host: {missing()}")


def foreign(name, device="opencl"):
    return Foreign.parse(f"{KERNELS / name}:scan", device, launch=LAUNCH)


@emulated
def test_a_race_is_a_verdict(quick_audits, opencl_device):
    found = audit(foreign("wrong_race.cl"), Scan((1000,)))
    check = found.check("races")
    assert check.status == "failed"
    assert "of 4 bytes" in check.evidence
    assert not found.passed
    assert found.time_ms is None


@emulated
def test_where_threads_meet_nothing_is_found(quick_audits, opencl_device):
    found = audit(foreign("honest_scan.cl"), Scan((1000,)))
    assert found.check("races").status == "passed"
    assert found.passed, found.checks


@emulated
@emulated
def test_a_barrier_that_others_never_reach(tmp_path):
    text = (KERNELS / "honest_scan.cl").read_text()
    kernel = tmp_path / "half.cl"
    kernel.write_text(
        text.replace("float before = 0;", "float before = 0; if (thread > 31) return;")
    )
    findings = Findings()
    look_for_races(
        Foreign.parse(f"{kernel}:scan", "opencl", launch=LAUNCH), Scan((70,)), findings, 60
    )
    assert findings.status("races") == "failed"


@emulated
def test_a_text_that_includes_itself_ends_in_its_time(tmp_path):
    text = (KERNELS / "honest_scan.cl").read_text()
    kernel = tmp_path / "bomb.cl"
    kernel.write_text('#include "bomb.cl"\n' * 2 + text)
    findings = Findings()
    look_for_races(
        Foreign.parse(f"{kernel}:scan", "opencl", launch=LAUNCH), Scan((70,)), findings, 1.0
    )
    assert findings.status("races") == "not applicable"


def test_a_text_that_calls_the_system_harms_nothing(quick_audits, opencl_device, tmp_path):
    text = (KERNELS / "fraud_system.cl").read_text()
    kernel = tmp_path / "kernel.cl"
    kernel.write_text(text.replace("TOUCHED", f'"{tmp_path / "touched"}"'))
    found = audit(Foreign.parse(f"{kernel}:scan", "opencl", launch=LAUNCH), Scan((70,)))
    if not opencl_device.description.gpu:
        if not {"read-only files", "Landlock"} & {*found.isolation.in_force}:
            pytest.skip(f"nothing keeps it from writing: {found.isolation}")
        assert found.check("processes").status == "failed", found.checks
    assert not found.passed
    assert not list(tmp_path.glob("touched*"))


def test_what_the_tool_says(monkeypatch, tmp_path):
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("#!/bin/sh\necho '========= Error: Race hazard between threads'\nexit 9\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(races, "missing", lambda: "no compiler")
    text = tmp_path / "text.cu"
    text.write_text("nothing")
    kernel, findings = Foreign.parse(f"{text}:scan", "cuda", launch=LAUNCH), Findings()
    look_for_races(kernel, Scan((70,)), findings, 60)
    assert findings.status("races") == "failed"
    tool.write_text("#!/bin/sh\nexit 0\n")
    findings = Findings()
    look_for_races(kernel, Scan((70,)), findings, 60)
    assert findings.status("races") == "passed"


def test_what_the_tool_watches(opencl_device):
    from rooftile.lab.audit.process.worker_race import launch

    arrays = {"x": np.ones(70, np.float32), "y": np.zeros(70, np.float32)}
    started = Launch("scan", (1, 1, 1), (64, 1, 1))
    launch({
        "file": str(KERNELS / "honest_scan.cl"), "function": "scan", "device": "opencl",
        "macros": {}, "launch": vars(started), "arguments": ["x", "y", 70],
    }, arrays)  # fmt: skip
