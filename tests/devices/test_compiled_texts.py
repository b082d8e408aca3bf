"""LLVM's texts of the package's C: of the C that is there, laid out as Python has it."""

from __future__ import annotations

import ctypes
import re
import shutil
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest

from rooftile.devices.cpu import method, quick, team
from rooftile.devices.cuda import replay

SOURCES = ("cpu/quick.c", "cpu/team.c", "cuda/replay.c")
STRUCTURES = {
    ("cpu/quick.c", "call"): quick.Call,
    ("cpu/team.c", "cores"): team.CoresStruct,
    ("cuda/replay.c", "table"): replay.Fields,
}
CLANG = "clang-15"


@pytest.fixture(scope="module")
def texts(benchmark_script):
    return benchmark_script("texts")


def text(texts, source):
    return (texts.DEVICES / source).with_suffix(".ll").read_text("utf-8")


def test_each_text_is_of_the_c_that_is_there(texts):
    assert set(texts.SOURCES) == set(SOURCES)
    for source in SOURCES:
        assert texts.digest(source) in text(texts, source), f"make texts: {source} has changed"


@pytest.mark.skipif(not shutil.which(CLANG), reason=f"{CLANG} is missing")
@pytest.mark.parametrize("source", SOURCES)
def test_clang_makes_the_same(texts, source):
    if texts.tools(CLANG) not in text(texts, source):
        pytest.skip(f"others than this {CLANG}, Python and NumPy made it")
    assert texts.text_of(source, CLANG) == text(texts, source)


@pytest.mark.parametrize(("source", "name"), STRUCTURES)
def test_a_structure_has_the_same_fields(texts, source, name):
    pattern = rf"^%struct.{name} = type {{ (.*) }}$"
    (fields,) = re.findall(pattern, text(texts, source), re.MULTILINE)
    sizes = {"ptr": 8, "i64": 8, "[32 x i64]": 256, "[8 x i64]": 64}
    offsets, at = [], 0
    for field in fields.split(", "):
        offsets.append(at)
        at += sizes[field]
    made = STRUCTURES[source, name]
    assert [getattr(made, field).offset for field, _ in made._fields_] == offsets
    assert ctypes.sizeof(made) == at


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
@pytest.mark.parametrize("source", SOURCES)
def test_processors_compile_it(texts, source, processor, monkeypatch):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    monkeypatch.setattr(team, "machine", lambda: processor)
    words = team.team_text() if source == "cpu/team.c" else text(texts, source)
    module = llvm.parse_assembly(words)
    target = llvm.Target.from_triple(f"{processor}-unknown-linux-gnu")
    compiler = target.create_target_machine(reloc="pic", codemodel="default")
    module.triple, module.data_layout = compiler.triple, str(compiler.target_data)
    module.verify()
    words = compiler.emit_assembly(module)
    assert ("pause" if processor == "x86_64" else "yield") in words or source != "cpu/team.c"


REFUSED = {
    "another Python": lambda p: p.setattr(sys.implementation, "name", "pypy"),
    "a newer Python": lambda p: p.setattr(sys, "version_info", (3, 14, 0)),
    "without the GIL": lambda p: p.setattr(sys, "abiflags", "t"),
    "another NumPy": lambda p: p.setattr(np, "__version__", "3.0.1"),
    "another processor": lambda p: p.setattr(method, "machine", lambda: "riscv64"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_known_is_refused_in_a_note(why, monkeypatch, caplog):
    monkeypatch.delenv("ROOFTILE_QUIET", raising=False)
    assert method.why_not_compiled() is None
    REFUSED[why](monkeypatch)
    reason = method.why_not_compiled()
    for _ in range(2):
        assert quick.compiled_method.__wrapped__() is None
        assert replay.new_table(1, 2, 3) is None
    assert [record.args for record in caplog.records] == [(reason,)]
    assert reason in caplog.text
