"""CUDA texts on the host: compiled by its C++ compiler, a fiber for each thread of a block.

For rungs that only a GPU of a certain kind runs, on a few images: the text is preprocessed, its
PTX instructions become calls of functions of ``shim.h`` with the same operands, and every array has
just its own bytes, so that AddressSanitizer sees what lies beside them.  Clusters of blocks are not
emulated.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.cache import cache_directory
from rooftile.devices.gpu import TensorMap, macro_lines, prelude
from rooftile.ops import narrowed, widened
from rooftile.strategies.gpu import GpuStrategy

SHIM = Path(__file__).with_name("shim.h")
COMPILER = shutil.which("g++")
_NOTHING = ("fence.", "griddepcontrol.", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group",
            "cp.async.wait", "cp.async.commit", "cp.async.bulk.wait", "cp.async.bulk.commit",
            "setmaxnreg")  # fmt: skip
_CALLS = {
    "cvt.rn.f16x2.f32": "cvt_f16x2", "cvt.rn.bf16x2.f32": "cvt_bf16x2",
    "cvt.f32.f16": "cvt_f32_f16",
    "ldmatrix.sync.aligned.m8n8.x4.shared": "load_squares<false>",
    "ldmatrix.sync.aligned.m8n8.x4.trans": "load_squares<true>",
    "mbarrier.init": "mbarrier_init", "mbarrier.arrive": "mbarrier_arrive",
    "cvt.rn.f16.f32": "cvt_f16", "cvt.rn.bf16.f32": "cvt_bf16", "ld.shared.v4.b32": "load_four",
    "ld.shared.v2.b32": "load_two",
    "bar.sync": "bar_sync", "cp.async.bulk.shared": "bulk_copy",
    "cvt.rn.tf32.f32": "cvt_tf32",
    "barrier.cluster.arrive": "__syncthreads",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16": "mma<::FP16>",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16": "mma<::BF16>",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32": "mma<::TF32>",
}  # fmt: skip
_OPTIONS = ("-std=c++20", "-w", "-fpermissive", "-fno-strict-aliasing", "-no-pie",
            "-ffp-contract=off", "-fno-sanitize-recover")  # fmt: skip
# Programs that AddressSanitizer watches take longer to compile than to run, the others run long.
_SANITIZED = {
    "address": ("-Og", "-fsanitize=address,alignment", "-fsanitize-sections=shared"),
    "thread": ("-O1", "-fsanitize=thread,alignment"),
}
_KINDS = {"f16": "FP16", "bf16": "BF16", "tf32": "TF32"}


@functools.cache
def missing() -> str:
    """What the host lacks for it; empty where it has all."""
    if COMPILER is None:
        return "no g++"
    for sanitizer in _SANITIZED:
        try:
            _built("int main() {}", sanitizer)
        except AssertionError:
            return f"this g++ does not compile C++20 with -fsanitize={sanitizer}"
    return ""


def emulate(
    rung: GpuStrategy,
    problem: Any,
    x: Any,
    parameters: Any,
    config: Any,
    folder: Path,
    sanitizer: str = "address",
    finite: bool = False,
) -> Any:
    """The result of a strategy's kernels.  Raises `AssertionError` with what the sanitizer said.

    ``x`` is the problem's input, or a tuple of them.
    The arrays lie in the folder, the program in the user's cache.  Where all numbers are
    ``finite``, the program ends at a computation on shared memory, workspace or results that
    nobody wrote.
    """
    values = rung.config(problem, config)
    assert rung.why_not(problem) is None
    assert rung.invalid(problem, values) is None
    named = dict(zip((p.name for p in problem.parameter_arrays), parameters, strict=True))
    inputs = x if isinstance(x, tuple) else (x,)
    arrays = {
        **dict(zip((a.name for a in problem.input_arrays), inputs, strict=True)),
        **rung.packed(problem, named, values),
        **rung.tables(problem, values),
    }
    for place in problem.input_arrays:
        if values.get("X_LAST"):
            arrays[place.name] = np.moveaxis(arrays[place.name], 1, -1)
        if values.get("X_NARROW"):
            arrays[place.name] = narrowed(arrays[place.name], rung.narrow)
    narrow_out = bool(values.get("OUT_NARROW"))
    (output,) = problem.output_arrays
    arrays["out"] = _unwritten(output.size, 2 if narrow_out else 4)
    for name, count in rung.workspace(problem, values).items():
        arrays[name] = _unwritten(count)
    for name, array in arrays.items():
        np.ascontiguousarray(array).tofile(folder / name)
    text = translated(
        _preprocessed(
            macro_lines(rung.macros(problem, values)) + prelude() + rung.text, rung.folders
        )
    )
    steps = (*rung.preparation(problem, values), *rung.steps(problem, values))
    fills = {name: fill.array for name, fill in rung.constants(problem, values).items()}
    main = _main(steps, arrays, fills)
    source = "\n".join(["namespace text {", text, "}", main])
    _run([_built(source, sanitizer), folder, *(["watched"] if finite else [])])
    kind = np.uint16 if narrow_out else np.float32
    made = np.fromfile(folder / "out", kind)
    if values.get("OUT_LAST"):
        items, maps, *sizes = output.shape
        made = np.moveaxis(made.reshape(items, *sizes, maps), -1, 1)
    made = made.reshape(output.shape)
    return widened(made, rung.narrow) if narrow_out else made


def _unwritten(count: int, size: int = 4) -> Any:
    """So many numbers as ``shim.h`` marks what nobody wrote."""
    return np.full(count * size // 2, 0x7FA0, np.uint16)


def _built(source: str, sanitizer: str) -> Path:
    """The program of what stands behind the shim, which is compiled once only."""
    header = _header(sanitizer)
    path = header.with_name(hashlib.sha256(source.encode()).hexdigest()[:32])
    options = (f"-I{header.parent}", "-include", SHIM.name, "-x", "c++", "-")
    return _made(path, sanitizer, options, source)


@functools.cache
def _header(sanitizer: str) -> Path:
    """The compiled shim, in a folder of the programs that are compiled with it."""
    version = _run([COMPILER, "--version"])
    texts = [path.read_text(encoding="utf-8") for path in sorted(SHIM.parent.glob("*.h"))]
    key = "\0".join([version, *_OPTIONS, *_SANITIZED[sanitizer], *texts])
    folder = f"{sanitizer}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    path = cache_directory() / "emulated" / folder / f"{SHIM.name}.gch"
    path.parent.mkdir(parents=True, exist_ok=True)
    return _made(path, sanitizer, ("-x", "c++-header", SHIM))


def _made(path: Path, sanitizer: str, options: Iterable[Any], given: str | None = None) -> Path:
    """A file that the compiler makes, unless somebody has made it before."""
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            draft = Path(folder) / path.name
            _run([COMPILER, *_OPTIONS, *_SANITIZED[sanitizer], *options, "-o", draft], given)
            draft.replace(path)
    return path


def _run(command: list[Any], given: str | None = None) -> str:
    # One race will do: each is looked up in the program's text, which takes long.
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=600, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def _preprocessed(text: str, folders: tuple[Path, ...]) -> str:
    includes = [f"-I{folder}" for folder in folders]
    return _run([COMPILER, "-E", "-P", *includes, "-x", "c++", "-"], text)


def translated(text: str) -> str:
    """C++ in place of what only CUDA's compiler knows: pragmas, dynamic shared memory, PTX."""
    text = re.sub(r"(_Pragma\(\"[^\"]*\"\)|#pragma unroll[ \d]*\n)", "", text)
    text = re.sub(
        r"extern __shared__ (?:__align__\(\d+\) )?(\w+) (\w+)\[\];",
        r"\1* \2 = (\1*)dynamic_shared;",
        text,
    )
    # C++ lets no array of arrays become one of constants.
    text = re.sub(r"const (slab|pair) (\w+)\[", r"\1 \2[", text)
    parts, at = [], 0
    for begin in re.finditer(r"\basm\b(?: volatile)?\s*\(", text):
        if begin.start() < at:
            continue
        end = _closing(text, begin.end())
        parts += [text[at : begin.start()], _call(text[begin.end() : end])]
        at = end + 1
    return "".join([*parts, text[at:]])


def _call(statement: str) -> str:
    """A function's call for an ``asm`` statement's inside."""
    code, *operands = [*_split(statement, ":"), "", ""][:3]
    code = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', code))
    given = [re.sub(r'^\s*"[^"]*"\s*', "", one) for part in operands for one in _split(part, ",")]
    given = [one for one in given if one.strip()]
    if code.startswith(_NOTHING):
        return "(void)0"
    if "wgmma.mma_async" in code:
        return _product(code, _split(operands[0], ","), given)
    if code.startswith("cp.async.bulk.tensor.2d.global"):
        box, *place, held = given
        return f"::store_box({box}, {{{', '.join(place)}}}, {held})"
    if code.startswith("cp.async.bulk.tensor"):
        to, box, *place, barrier = given
        return f"::copy_box({to}, {box}, {{{', '.join(place)}}}, {barrier})"
    if "mbarrier.try_wait" in code:
        return f"::mbarrier_try_wait({', '.join(given)})"
    if copy := re.match(r"cp\.async\.c[ag]\.shared\.global \[%0\], \[%1\], (\d+), %2", code):
        return f"::copy_or_zeros({copy[1]}, {', '.join(given)})"
    for instruction, function in _CALLS.items():
        if code.startswith(instruction):
            return f"::{function}({', '.join(given)})"
    raise NotImplementedError(code)


def _product(code: str, sums: list[str], given: list[str]) -> str:
    """Sums, four registers or more of the left matrix, a descriptor, and perhaps whether to add."""
    kind = re.search(r"\.f32\.(\w+)\.", code)
    assert kind
    known = re.search(r"mov\.pred adds, (\d)", code)
    places = ", ".join(f"&{one}" for one in given[: len(sums)])
    *a, b = given[len(sums) :] if known else given[len(sums) : -1]
    adds = known[1] if known else given[-1]
    rows = ", ".join(a)
    # Flags at the end are for matrices in shared memory: a's, unless in registers, and b's.
    flags = re.search(r"adds, 1, 1((?:, [01])*);", code)
    across = [flag == "1" for flag in re.findall(r"[01]", flags[1])] if flags else []
    across = [False] * (2 - len(across)) + across
    kinds = ", ".join([f"::{_KINDS[kind[1]]}", *(str(one).lower() for one in across)])
    return f"::wgmma<{kinds}>({adds}, {{{places}}}, {{{rows}}}, {b})"


def _closing(text: str, at: int) -> int:
    """Where the parenthesis closes that was opened before ``at``."""
    depth, quoted = 1, False
    while depth:
        letter = text[at]
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter == "(") - (letter == ")")
        at += 1
    return at - 1


def _split(text: str, by: str) -> list[str]:
    """At each separator that is not in quotes or parentheses."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "([{") - (letter in ")]}")
        if letter == by and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _given(argument: str | int | TensorMap) -> str:
    if isinstance(argument, TensorMap):
        shape, box = (f"{{{', '.join(map(str, n))}}}" for n in (argument.shape, argument.box))
        where = f"(char*)given_{argument.array}, {len(argument.shape)}"
        rounded = int(argument.rounded)
        return f"boxed{{{{{where}, {shape}, {box}, {argument.element_bytes}, {rounded}}}}}"
    return f"any{{given_{argument}}}" if isinstance(argument, str) else str(argument)


def _main(steps: Any, arrays: Iterable[str], fills: Mapping[str, str]) -> str:
    """Loads the arrays from the folder that it is given, launches the steps, stores the result.

    ``fills`` are the arrays that constant memory is filled from, where not from those of its name.
    """
    lines = ["if (count > 2) watch_unwritten();", "if (chdir(given[1])) abort();"]
    lines += [f'contents held_{n}("{n}");' for n in arrays]
    lines += [f"auto* given_{n} = (void*)held_{n}.bytes;" for n in arrays]
    for step in steps:
        launch = step.launch
        for n in launch.constants:
            lines.append(f"memcpy(text::{n}, given_{fills.get(n, n)}, sizeof text::{n});")
        given = ", ".join(map(_given, step.arguments))
        grid, block = (f"{{{', '.join(map(str, sizes))}}}" for sizes in (launch.grid, launch.block))
        lines.append(
            f"launch({grid}, {block}, {launch.shared_bytes}, "
            f"[=] {{ text::{launch.kernel}({given}); }});"
        )
    lines += ['FILE* file = fopen("out", "wb");',
              "fwrite(held_out.bytes, 1, held_out.size, file); fclose(file);"]  # fmt: skip
    return "\n".join(["int main(int count, char** given) {", *lines, "}"])
