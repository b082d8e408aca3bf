"""A text as a program of the host: built once, run on arrays that lie in a folder."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rooftile._files import keep_sealed, sealed
from rooftile.devices.cache import cache_directory
from rooftile.devices.gpu import Launch, TensorMap
from rooftile.lab.emulation.translation import from_opencl, translated
from rooftile.ops import AnyArray

Sanitizer = Literal["address", "thread", "lines"]
Started = tuple[Launch, Sequence[Any]]
"""A launch with its arguments: names of arrays, tensor maps of them, or integers."""

_HERE = Path(__file__).parent
_SHIM = _HERE / "shim.h"
_OBJECT = "shim.o"
_OPENCL = _HERE / "opencl.h"
_COMPILER = shutil.which("g++")
_OPTIONS = ("-std=c++20", "-w", "-fpermissive", "-fno-strict-aliasing", "-no-pie",
            "-ffp-contract=off", "-fno-sanitize-recover",
            # It links in a third of the time, where there is one.
            *(["-fuse-ld=gold"] if shutil.which("ld.gold") else []))  # fmt: skip
# Programs that AddressSanitizer watches take longer to compile than to run: their code is not
# optimised, and each access is a call instead of several branches.  The others run long.
_SANITIZED = {
    "address": ("-O0", "-fsanitize=address,alignment", "-fsanitize-sections=shared",
                "--param=asan-instrumentation-with-call-threshold=0"),
    "thread": ("-O1", "-fsanitize=thread,alignment"),
    # The same, and its findings name lines of the text.
    "lines": ("-O1", "-g1", "-fsanitize=thread,alignment"),
}  # fmt: skip
_LIMIT_S = 600
_SAID = 4000
"""Characters of what a program said last."""


class Finding(Exception):
    """A sanitizer's message, or a program that failed."""


class NotCompiled(Finding):
    """The compiler's message."""


@functools.cache
def missing() -> str:
    """The host's missing tools; empty where it has all."""
    if _COMPILER is None:
        return "no g++"
    for sanitizer in ("address", "thread"):
        try:
            _built("int main() {}", sanitizer, _LIMIT_S)
        except Finding:
            return f"this g++ does not compile C++20 with -fsanitize={sanitizer}"
    return ""


def run(
    text: str,
    folders: Sequence[Path],
    started: Sequence[Started],
    arrays: Mapping[str, AnyArray],
    folder: Path,
    *,
    sanitizer: Sanitizer = "address",
    fills: Mapping[str, str] | None = None,
    watched: bool = False,
    opencl: bool = False,
    limit_s: float = _LIMIT_S,
    header: Path | None = None,
) -> dict[str, AnyArray]:
    """The arrays after all launches of the kernels of a text.  Raises `Finding`, `NotCompiled`.

    ``folders`` have the text's headers, and ``folder`` is one of its own for the arrays; the
    program is in the user's cache, and serves other arrays of the same sizes. ``fills`` are the
    arrays that constant memory is filled from, where their names differ from its own. ``opencl``:
    the text is OpenCL C. ``watched``: the program ends at a computation on shared memory, or on
    arrays, that is unwritten, as `unwritten` marks it. ``header``: the result of `shim`, where the
    program is a stranger's: the program is then in ``folder`` too.
    """
    for name, array in arrays.items():
        np.ascontiguousarray(array).tofile(folder / name)
    main = _main(started, arrays, fills or {})
    if opencl:
        text = _OPENCL.read_text(encoding="utf-8") + from_opencl(text)
    try:
        whole = translated(_preprocessed(text, folders, limit_s, sanitizer == "lines"))
        source = "\n".join(["namespace text {", whole, "}", main])
        program = (
            _built(source, sanitizer, limit_s)
            if header is None
            else _compiled(folder / "program", header, sanitizer, limit_s, source)
        )
    except Finding as finding:
        raise NotCompiled(str(finding)) from None
    _done([program, folder, *(["watched"] if watched else [])], limit_s)
    return {
        name: np.fromfile(folder / name, array.dtype).reshape(array.shape)
        for name, array in arrays.items()
    }


def unwritten(nbytes: int) -> AnyArray:
    """``nbytes`` bytes with the mark of ``shim.h`` for unwritten memory."""
    return np.resize(np.full(nbytes // 2 + 1, 0x7FA0, np.uint16).view(np.uint8), nbytes)


def _built(source: str, sanitizer: str, limit_s: float) -> Path:
    """The program after the shim, which is compiled once only."""
    header = shim(sanitizer)
    path = header.with_name(hashlib.sha256(source.encode()).hexdigest()[:32])
    return _compiled(path, header, sanitizer, limit_s, source)


def _compiled(path: Path, header: Path, sanitizer: str, limit_s: float, source: str) -> Path:
    own = ("-include", _SHIM.name, "-x", "c++", "-")
    options = (f"-I{header.parent}", *own, "-x", "none", header.with_name(_OBJECT))
    return made_program(path, sanitizer, options, limit_s, source)


@functools.cache
def shim(sanitizer: str) -> Path:
    """The compiled shim, in a folder of the programs that are compiled with it.

    Next to the header is the object of its declarations, which programs are linked with.
    """
    version = _done([_COMPILER, "--version"], _LIMIT_S)
    texts = [path.read_text(encoding="utf-8") for path in sorted(_HERE.glob("*.[ch]*"))]
    key = "\0".join([version, *_OPTIONS, *_SANITIZED[sanitizer], *texts])
    folder = f"{sanitizer}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    path = cache_directory() / "emulated" / folder / f"{_SHIM.name}.gch"
    path.parent.mkdir(parents=True, exist_ok=True)
    shim = ("-O2", "-c", _SHIM.with_suffix(".cc"))
    made_program(path.with_name(_OBJECT), sanitizer, shim, _LIMIT_S)
    return made_program(path, sanitizer, ("-x", "c++-header", _SHIM), _LIMIT_S)


def made_program(
    path: Path,
    sanitizer: str,
    options: Iterable[Any],
    limit_s: float,
    given: str | None = None,
) -> Path:
    """A file that the compiler makes, unless it is there unchanged; its hash is kept next to it, so
    that a header that was cut off is noticed."""
    seal = path.with_name(f"{path.name}.sha256")
    made = _seal(path)
    if made is None or sealed(seal) != made:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            draft = Path(folder) / path.name
            command = [_COMPILER, *_OPTIONS, *_SANITIZED[sanitizer], *options, "-o", draft]
            _done(command, limit_s, given)
            made = _seal(draft)
            with contextlib.suppress(OSError):
                path.rmdir()  # An empty folder could not be replaced.
            draft.replace(path)
        keep_sealed(seal, made or b"")
    elif not os.access(path, os.X_OK):
        path.chmod(0o755)
    return path


def _seal(path: Path) -> bytes | None:
    """A file's hash; None where it cannot be read."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
    return None


def _preprocessed(text: str, folders: Sequence[Path], limit_s: float, lines: bool) -> str:
    """``lines``: with the markers that say which line of which file is meant."""
    options = [*([] if lines else ["-P"]), *(f"-I{folder}" for folder in folders)]
    return _done([_COMPILER, "-E", *options, "-x", "c++", "-"], limit_s, text)


def _done(command: list[Any], limit_s: float, given: str | None = None) -> str:
    # One race will do: each is looked up in the program's text, which takes long.  No kernel takes
    # memory that could leak, which AddressSanitizer would look for at the end.
    options = {"TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=0"}
    environment = {**os.environ, **options}
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=limit_s, env=environment
        )
    except subprocess.TimeoutExpired:
        raise Finding(f"it did not end within {limit_s:g} s") from None
    if done.returncode != 0:
        raise Finding(done.stderr[-_SAID:] or f"it ended with {done.returncode}")
    return done.stdout


def _given(argument: Any) -> str:
    if isinstance(argument, TensorMap):
        shape, box = (f"{{{', '.join(map(str, n))}}}" for n in (argument.shape, argument.box))
        where = f"(char*)given_{argument.array}, {len(argument.shape)}"
        rounded = int(argument.rounded)
        return f"boxed{{{{{where}, {shape}, {box}, {argument.element_bytes}, {rounded}}}}}"
    return f"any{{given_{argument}}}" if isinstance(argument, str) else str(argument)


def _main(started: Sequence[Started], arrays: Iterable[str], fills: Mapping[str, str]) -> str:
    """Loads the arrays from the folder that it is given, launches, and stores them there again."""
    lines = ["if (count > 2) watch_unwritten();", "if (chdir(given[1])) abort();"]
    lines += [f'contents held_{n}("{n}");' for n in arrays]
    lines += [f"auto* given_{n} = (void*)held_{n}.bytes;" for n in arrays]
    for launch, arguments in started:
        for n in launch.constants:
            lines.append(f"memcpy(text::{n}, given_{fills.get(n, n)}, sizeof text::{n});")
        given = ", ".join(map(_given, arguments))
        grid, block = (f"{{{', '.join(map(str, sizes))}}}" for sizes in (launch.grid, launch.block))
        lines.append(
            f"launch({grid}, {block}, {launch.shared_bytes}, "
            f"[=] {{ text::{launch.kernel}({given}); }});"
        )
    lines += [f'held_{n}.keep("{n}");' for n in arrays]
    return "\n".join(["int main(int count, char** given) {", *lines, "}"])


__all__ = ["Finding", "NotCompiled", "missing", "run", "shim", "unwritten"]
