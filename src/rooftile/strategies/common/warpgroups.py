"""Parts that rungs for Hopper share, whatever their operation: sizes, splits, warpgroups'
products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rooftile.strategies.common.cores import Cores

LEAST_REDUCTION = 64
"""The shortest sum of split products.  A split leaves errors of up to 12 u a term, which is more
than the budget of much shorter sums."""


def too_short(reduction: int, least: int = LEAST_REDUCTION) -> str | None:
    """Why the products of so short a sum are not split; None where they may be."""
    return f"split products pay from sums of {least} products" if reduction <= least else None


def elements(array: str, *shape: int) -> list[str]:
    """An array's elements in their order, as ``sum[0][1]``."""
    return [array + "".join(f"[{n}]" for n in index) for index in np.ndindex(*shape)]


def wgmma(
    cores: Cores,
    sums: Sequence[str],
    a: Sequence[str],
    b: str,
    adds: bool | str,
    lies_across: tuple[bool, bool] = (False, False),
) -> str:
    """The ``wgmma`` statement for sums += a b, or = where not ``adds``: known, or an expression.

    A warpgroup multiplies 64 rows by twice as many columns as a thread has sums, 32 bytes deep:
    ``a`` in four registers or, as ``b``, in shared memory by its descriptor.  Of matrices of 16
    bits in shared memory ``lies_across`` says whether the lines of a, and of b, are terms.
    """
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
    flags = "".join(f", {int(across)}" for across in lies_across[registers:])
    transposed = "" if cores.bytes == 4 else flags
    instruction = (
        f"{{ .reg .pred adds; {begin}; "
        f"wgmma.mma_async.sync.aligned.m64n{2 * count}k{cores.depth}.f32.{cores.ptx}.{cores.ptx} "
        f"{{{names}}}, {rows}, %{count + len(a)}, adds, 1, 1{transposed}; }}"
    )
    way = "+" if adds else "="
    written = ", ".join(f'"{way}f"({name})' for name in sums)
    return f'asm volatile("{instruction}" : {written} : {", ".join(given)})'


def wgmma_sparse(
    cores: Cores,
    sums: Sequence[str],
    a: Sequence[str],
    b: str,
    places: str,
    adds: str,
    b_lies_across: bool = False,
) -> str:
    """The sparse ``wgmma`` statement for sums += a b, or = where not ``adds``.

    It skips half of the terms: of every four in a row of ``a`` at least two are zero. ``a`` are
    four registers of the other two in 16 bits; four bits of ``places`` say which of four they are.
    A lane's lower half is of row lane / 4, the upper one of the row eight further down; the first
    lane of four has the bits of the first 16 terms, the second one of the last.
    """
    count = len(sums)
    names = ", ".join(f"%{n}" for n in range(count))
    rows = ", ".join(f"%{count + n}" for n in range(4))
    instruction = (
        f"{{ .reg .pred adds; setp.ne.b32 adds, %{count + 6}, 0; wgmma.mma_async.sp.sync.aligned."
        f"m64n{2 * count}k{2 * cores.depth}.f32.{cores.ptx}.{cores.ptx} "
        f"{{{names}}}, {{{rows}}}, %{count + 4}, %{count + 5}, 0, adds, 1, 1, "
        f"{int(b_lies_across)}; }}"
    )
    written = ", ".join(f'"+f"({name})' for name in sums)
    words = [f'"r"({name})' for name in a]
    given = ", ".join([*words, f'"l"({b})', f'"r"({places})', f'"r"((int)({adds}))'])
    return f'asm volatile("{instruction}" : {written} : {given})'


def wgmma_fence(sums: Sequence[str], a: Sequence[str]) -> str:
    """The statement before products of registers: nothing writes these between it and them, for
    which the compiler would have the products wait for each other."""
    written = ", ".join([*(f'"+f"({name})' for name in sums), *(f'"+r"({name})' for name in a)])
    return f'asm volatile("wgmma.fence.sync.aligned;" : {written} : : "memory")'


def wgmma_wait(sums: Sequence[str], later: str, a: Sequence[str] = ()) -> str:
    """The statement that waits for all sets of products but the ``later`` last.

    It names the sums, so that nothing reads them before it, and the registers that they are made
    of, so that nothing overwrites those.
    """
    updated = [*(f'"+f"({name})' for name in sums), *(f'"+r"({name})' for name in a)]
    wait = f"wgmma.wait_group.sync.aligned %{len(updated)};"
    return f'asm volatile("{wait}" : {", ".join(updated)} : "n"({later}) : "memory")'
