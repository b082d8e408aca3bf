"""C++ in place of what only CUDA's compiler knows: pragmas, dynamic shared memory, PTX."""

from __future__ import annotations

import re

_NOTHING = ("fence.", "griddepcontrol.", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group",
            "cp.async.wait", "cp.async.commit", "cp.async.bulk.wait", "cp.async.bulk.commit",
            "cp.async.bulk.prefetch.L2", "setmaxnreg", "prefetch.",
            "{ .reg .pred never;")  # fmt: skip
_CALLS = {
    "cvt.rn.f16x2.f32": "cvt_f16x2", "cvt.rn.bf16x2.f32": "cvt_bf16x2",
    "cvt.f32.f16": "cvt_f32_f16",
    "ldmatrix.sync.aligned.m8n8.x4.shared": "load_squares<false>",
    "ldmatrix.sync.aligned.m8n8.x4.trans": "load_squares<true>",
    "mbarrier.init": "mbarrier_init", "mbarrier.arrive": "mbarrier_arrive",
    "cvt.rn.f16.f32": "cvt_f16", "cvt.rn.bf16.f32": "cvt_bf16", "ld.shared.v4.b32": "load_four",
    "ld.shared.v2.b32": "load_two", "prmt.b32": "prmt",
    "bar.sync": "bar_sync", "cp.async.bulk.shared": "bulk_copy",
    "cp.async.bulk.global.shared": "bulk_store",
    "cvt.rn.tf32.f32": "cvt_tf32",
    "barrier.cluster.arrive": "__syncthreads",
    "ld.relaxed.gpu.global.u64": "load_word",
    "ld.relaxed.gpu.global.v2.u64": "load_words",
    "st.relaxed.gpu.global.u64": "store_word",
    "st.relaxed.gpu.global.v2.u64": "store_words",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16": "mma<::FP16>",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16": "mma<::BF16>",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32": "mma<::TF32>",
    "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8": "mma_bytes",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16": "wmma_load<::FP16, true>",
    "wmma.load.b.sync.aligned.row.m16n16k16.shared.f16": "wmma_load<::FP16, false>",
    "wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32": "wmma_load<::TF32, true>",
    "wmma.load.b.sync.aligned.row.m16n16k8.shared.tf32": "wmma_load<::TF32, false>",
    "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32": "wmma_add<::FP16>",
    "wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32": "wmma_add<::TF32>",
    "wmma.store.d.sync.aligned.row": "wmma_store",
}  # fmt: skip
_KINDS = {"f16": "FP16", "bf16": "BF16", "tf32": "TF32"}


def from_opencl(text: str) -> str:
    """A text of OpenCL C in the words of ``opencl.h``: what a group shares is static memory."""
    text = re.sub(r"(?<!\w)(kernel|global|local|constant|private)(?!\w)", r"__\1", text)
    text = re.sub(r"__constant\b", "const", text)
    # Of a declaration without a pointer, the memory is the variable's.
    text = re.sub(r"__local(?=\s+[\w\s]+[\[;=])", "__shared__", text)
    return re.sub(r"__local\b", "", text)


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
    # No marker of a line stands inside of a statement in which operands are looked for.
    text = re.sub(r"(?<=[,(:])\s*\n# \d+ \"[^\n]*\n", "\n", text)
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
    if not code or code.startswith(_NOTHING):
        return "(void)0"
    if "wgmma.mma_async.sp" in code:
        return _sparse_product(code, _split(operands[0], ","), given)
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


def _sparse_product(code: str, sums: list[str], given: list[str]) -> str:
    """Sums, four registers of the left matrix, a descriptor, which terms the registers hold, and
    whether to add."""
    kind = re.search(r"\.f32\.(\w+)\.", code)
    assert kind
    places = ", ".join(f"&{one}" for one in given[: len(sums)])
    *a, b, held, adds = given[len(sums) :]
    rows = ", ".join(a)
    across = str(code.rstrip("; }").endswith(", 1, 1, 1")).lower()
    kinds = f"::{_KINDS[kind[1]]}, {across}"
    return f"::wgmma_sparse<{kinds}>({adds}, {{{places}}}, {{{rows}}}, {b}, {held})"


def _closing(text: str, at: int) -> int:
    """The position of the parenthesis that closes the one opened before ``at``."""
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
