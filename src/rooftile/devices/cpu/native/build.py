"""From LLVM's text to functions in memory; machine code is kept in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

import llvmlite

from rooftile._files import keep_sealed, sealed
from rooftile._locks import recursive_lock
from rooftile.devices.cache import cache_directory
from rooftile.devices.cpu.native import objects
from rooftile.devices.first_use import once

if TYPE_CHECKING:
    import llvmlite.binding as llvm

Passes = Literal["all", "layers", "simplify", "variables"]
"""LLVM's passes over a text before code generation: all of them, loop vectorisation included, for
one kernel or for a chain of layers, whose text may be longer; simplification of each function and
hoisting of invariants out of loops; or only promotion of variables to registers."""

MOST_INSTRUCTIONS = 12_000
"""Lines of LLVM's text that are optimised: about a second's work; half as many by all passes.
LLVM's time grows faster than a text, without end. So a strategy whose text grows with a problem
writes loops where this is exceeded; the text of one that does not is compiled as it is."""

_MOST_LAYERS = 4
"""Texts of the longest layer that a chain of layers may have: each would be compiled alone too."""

turn = recursive_lock()
"""Held by a thread that compiles or links: LLVM takes one at a time, and of several threads that
ask for the same kernel one makes it."""
_numbers = itertools.count()


class Code:
    """Functions in memory, which are there until the object is garbage: whatever may run them holds
    it."""

    def __init__(self, addresses: tuple[int, ...], nbytes: int, holder: Any) -> None:
        self.addresses, self.nbytes = addresses, nbytes
        self._holder = holder


_in_memory = WeakValueDictionary[Path, Code]()
"""The code of kernels, by the file of each, so that none is in memory twice."""
_stays: list[Code] = []
"""The code that `addresses` has given."""


def code_bytes() -> int:
    """Bytes of the machine code that is in memory now."""
    return sum(code.nbytes for code in (*_in_memory.values(), *_stays))


@once
def processor() -> tuple[str, str]:
    """Name and features of the processor that is compiled for: this one, unless
    ``ROOFTILE_CPU_NAME`` and ``ROOFTILE_CPU_FEATURES`` say otherwise."""
    name = os.environ.get("ROOFTILE_CPU_NAME")
    features = os.environ.get("ROOFTILE_CPU_FEATURES")
    if not name or features is None:
        own, has = this_processor()
        name, features = name or own, has if features is None else features
    return name, features


def this_processor() -> tuple[str, str]:
    """LLVM's words for this processor, kept by the system's, so that LLVM need not be loaded."""
    path = None
    with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb") as lines:
        # The first processor's lines are in here; they name its model and its features.
        told = lines.read(4096).partition(b"\n\n")[0]
        words = b"\n".join(li for li in told.split(b"\n") if not li.startswith(_CHANGING))
        digest = hashlib.sha256(words + llvmlite.__version__.encode()).hexdigest()
        path = kernel_directory() / f"processor-{digest[:20]}"
        if (kept := sealed(path)) is not None:
            name, features = kept.decode().split("\n")
            return name, features
    import llvmlite.binding as llvm

    found = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    if path is not None:
        keep_sealed(path, "\n".join(found).encode())
    return found


_CHANGING = (b"cpu MHz", b"bogomips", b"processor", b"core id", b"apicid", b"initial apicid")
"""Fields of ``/proc/cpuinfo`` that differ between cores or moments."""


@cache
def _machine(opt: int = 2) -> llvm.TargetMachine:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = processor()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=opt, reloc="pic", codemodel="default"
    )


@cache
def _version() -> str:
    """Versions that machine code depends on besides a kernel's text: compiler, processor,
    translation."""
    here = Path(__file__).parent
    files = sorted(here.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    return "\0".join([llvmlite.__version__, *processor(), digest])


def kernel_directory() -> Path:
    """The folder of machine code; with a read-only home each process compiles anew."""
    return cache_directory() / "kernels"


def addresses(
    stem: str,
    digest: str,
    text: Callable[[], str],
    functions: Sequence[str],
    passes: Passes = "all",
) -> tuple[int, ...]:
    """The addresses of functions of LLVM's text as of `code_of`, valid until the process ends."""
    code = _from_file(_path(stem, digest), text, functions, passes)
    _stays.append(code)
    return code.addresses


def code_of(
    stem: str,
    digest: str,
    text: Callable[[], str],
    functions: Sequence[str],
    passes: Passes = "all",
) -> Code:
    """Functions of LLVM's text, which has this digest.

    The code is that in memory, or it comes from the cache, or else it is compiled and kept there.
    ``stem`` makes the file findable by a person.
    """
    path = _path(stem, digest)
    code = _in_memory.get(path)
    if code is None:
        code = _in_memory[path] = _from_file(path, text, functions, passes)
    return code


def _path(stem: str, digest: str) -> Path:
    key = hashlib.sha256(f"{digest}\0{_version()}".encode()).hexdigest()
    return kernel_directory() / f"{stem}-{key[:20]}.o"


def _from_file(
    path: Path, text: Callable[[], str], functions: Sequence[str], passes: Passes
) -> Code:
    # Code is run as it is, so it must be what was written; object files may end in anything.
    code = sealed(path)
    if code is None:
        announce(path.parent)
        code = compiled(text(), passes)
        keep_sealed(path, code)
    return _linked(code, functions)


@once
def announce(directory: Path) -> None:
    """Say once, where nothing was ever compiled here, why a first call takes longer."""
    if os.environ.get("ROOFTILE_QUIET") or any(directory.glob("*.o")):
        return
    # It takes longer to load than most kernels.
    import logging

    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
    writable = os.access(directory, os.W_OK | os.X_OK)
    kept = "keeps them in" if writable else "cannot keep them in"
    logging.getLogger("rooftile").warning(
        "rooftile compiles code for this CPU when it is first used, and %s %s; "
        "ROOFTILE_QUIET=1 or logging's level of 'rooftile' leave this line out",
        kept,
        directory,
    )


def compiled(text: str, passes: Passes = "all") -> bytes:
    """An object file of LLVM's text."""
    lines, most = text.count("\n"), MOST_INSTRUCTIONS
    if passes == "layers":
        passes, most = "all", _MOST_LAYERS * MOST_INSTRUCTIONS
    if passes == "all" and lines > MOST_INSTRUCTIONS // 2:
        passes = "simplify"
    with turn:
        if lines > most:
            return bytes(_machine(opt=0).emit_object(_parsed(text, _machine(opt=0))))
        return bytes(_machine().emit_object(_optimised(text, passes)))


def assembly(text: str, passes: Passes) -> str:
    """The machine code of LLVM's text, as the processor's assembler has it, for a person."""
    with turn:
        return str(_machine().emit_assembly(_optimised(text, passes)))


def _parsed(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """LLVM's text for a machine.  Its context, and with it all memory of its types and constants,
    goes with the module; LLVM's own context keeps them until the process ends."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module


def _optimised(text: str, passes: Passes) -> llvm.ModuleRef:
    import llvmlite.binding as llvm

    machine = _machine()
    module = _parsed(text, machine)
    options = llvm.create_pipeline_tuning_options(speed_level=2 if passes == "all" else 1)
    # Neighbouring numbers are put into vectors by kernels themselves.
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    if passes == "all":
        builder.getModulePassManager().run(module, builder)
        return module
    first = llvm.create_new_module_pass_manager()
    if passes == "variables":
        first.add_sroa_pass()
        first.run(module, builder)
        return module
    first.add_always_inliner_pass()
    first.run(module, builder)
    simplify = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplify.run(function, builder)
    return module


def _linked(code: bytes, functions: Sequence[str]) -> Code:
    """Functions of an object file in memory."""
    found = objects.linked(code, functions)
    if found is not None:
        places, image = found
        return Code(places, image.nbytes, image)
    import llvmlite.binding as llvm

    with turn:
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for function in functions:
            builder.export_symbol(function)
        tracker = builder.link(_jit(), f"rooftile{next(_numbers)}")
        return Code(tuple(int(tracker[function]) for function in functions), len(code), tracker)


@cache
def _jit() -> llvm.LLJIT:
    import llvmlite.binding as llvm

    return llvm.create_lljit_compiler(_machine())
