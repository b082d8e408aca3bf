"""From LLVM's text to functions in memory; machine code is kept in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from rooftile._files import keep
from rooftile.devices.cache import cache_directory

_lock = threading.RLock()
_kept: list[object] = []
"""What holds the code that has been linked, which stays until the process ends."""
_numbers = itertools.count()


@cache
def processor() -> tuple[str, str]:
    """Name and features of the processor that is compiled for: this one, unless
    ``ROOFTILE_CPU_NAME`` and ``ROOFTILE_CPU_FEATURES`` say otherwise."""
    name = os.environ.get("ROOFTILE_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("ROOFTILE_CPU_FEATURES")
    if features is None:
        features = llvm.get_host_cpu_features().flatten()
    return name, features


@cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = processor()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=2, reloc="pic", codemodel="default"
    )


@cache
def _version() -> str:
    """What machine code depends on besides a kernel's text: compiler, processor, translation."""
    here = Path(__file__).parent
    files = sorted(here.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    return "\0".join([llvmlite.__version__, *processor(), digest])


@cache
def _directory() -> Path:
    directory = cache_directory() / "kernels"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError:
        # With a read-only home calls still work; each process compiles anew.
        return Path(tempfile.mkdtemp(prefix="rooftile-kernels-"))


def addresses(
    stem: str, digest: str, text: Callable[[], str], functions: Sequence[str]
) -> tuple[int, ...]:
    """Where functions of LLVM's text lie, which has this digest.

    The code comes from the cache, or else it is compiled and kept there.  ``stem`` makes the file
    findable by a person.
    """
    key = hashlib.sha256(f"{digest}\0{_version()}".encode()).hexdigest()
    path = _directory() / f"{stem}-{key[:20]}.o"
    # No file, or one that a full disk left unfinished.
    with contextlib.suppress(OSError, RuntimeError):
        return _linked(path.read_bytes(), functions)
    code = _compiled(text())
    keep(path, code)
    return _linked(code, functions)


def _compiled(text: str) -> bytes:
    """An object file of LLVM's text."""
    with _lock:
        machine = _machine()
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        # Neighbouring numbers are put into vectors by kernels themselves.
        options.slp_vectorization = False
        options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return bytes(machine.emit_object(module))


def _linked(code: bytes, functions: Sequence[str]) -> tuple[int, ...]:
    """The addresses of functions of an object file, in memory from now on."""
    with _lock:
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for function in functions:
            builder.export_symbol(function)
        tracker = builder.link(_jit(), f"rooftile{next(_numbers)}")
        _kept.append(tracker)
        return tuple(int(tracker[function]) for function in functions)


def _unlock() -> None:
    """In a forked child nobody holds the lock, whoever did so in its parent."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


@cache
def _jit() -> llvm.LLJIT:
    return llvm.create_lljit_compiler(_machine())
