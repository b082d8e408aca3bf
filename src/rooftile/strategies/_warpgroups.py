"""What rungs for Hopper share, whatever their operation: sizes, splits, warpgroups' products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MULTIPROCESSORS = 132
"""Of the H100 and H200 SXM."""
SHARED_BYTES = 228 * 1024
"""Of a multiprocessor; 1 KB of it goes to each block's own ends."""
_LEAST_REDUCTION = 64
"""The shortest sum of split products: two parts leave errors of up to 12 u a term, more than
the budget of short sums."""
LEAST_SPLIT = 2.0**-110
"""The smallest magnitude that is split: below, TF32's range ends before eleven bits of what
rounding left."""

_CORES = {"fp16": ("f16", 16), "bf16": ("bf16", 16), "tf32": ("tf32", 8), "ieee": ("tf32", 8)}
"""A precision's type in PTX, and how many of its numbers are 32 bytes: the depth of a product."""


def too_short(reduction: int) -> str | None:
    """Why products of a sum with its bias are not split; None where they may be."""
    if reduction <= _LEAST_REDUCTION:
        return f"split products pay from sums of {_LEAST_REDUCTION} products"
    return None


def elements(array: str, *shape: int) -> list[str]:
    """An array's elements in their order, as ``sum[0][1]``."""
    return [array + "".join(f"[{n}]" for n in index) for index in np.ndindex(*shape)]


def product(precision: str, sums: Sequence[str], a: Sequence[str], b: str, adds: bool | str) -> str:
    """The ``wgmma`` statement for sums += a b, or = where not ``adds``: known, or an expression.

    A warpgroup multiplies 64 rows by twice as many columns as a thread has sums, 32 bytes deep:
    ``a`` in four registers or, as ``b``, in shared memory by its descriptor.
    """
    kind, deep = _CORES[precision]
    count, registers = len(sums), len(a) > 1
    names = ", ".join(f"%{n}" for n in range(count))
    rows = ", ".join(f"%{count + n}" for n in range(len(a)))
    if registers:
        rows = f"{{{rows}}}"
    given = [f'"{"r" if registers else "l"}"({name})' for name in a] + [f'"l"({b})']
    if isinstance(adds, bool):
        begin = f"mov.pred adds, {int(adds)}"
    else:
        begin = f"setp.ne.b32 adds, %{count + len(given)}, 0"
        given.append(f'"r"((int)({adds}))')
    # Matrices of 16 bits in shared memory may be transposed: none is.
    transposed = "" if kind == "tf32" else ", 0" if registers else ", 0, 0"
    instruction = (
        f"{{ .reg .pred adds; {begin}; "
        f"wgmma.mma_async.sync.aligned.m64n{2 * count}k{deep}.f32.{kind}.{kind} "
        f"{{{names}}}, {rows}, %{count + len(a)}, adds, 1, 1{transposed}; }}"
    )
    way = "+" if adds else "="
    written = ", ".join(f'"{way}f"({name})' for name in sums)
    return f'asm volatile("{instruction}" : {written} : {", ".join(given)})'


def completed(sums: Sequence[str], later: str) -> str:
    """The statement that waits for all groups of products but the ``later`` last; it names the
    sums, so that nothing reads them before it."""
    updated = ", ".join(f'"+f"({name})' for name in sums)
    wait = f"wgmma.wait_group.sync.aligned %{len(sums)};"
    return f'asm volatile("{wait}" : {updated} : "n"({later}) : "memory")'
