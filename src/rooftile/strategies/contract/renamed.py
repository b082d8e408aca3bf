"""Older names of rungs, which tunings, histories and callers may still use."""

from __future__ import annotations

_WITH_ARGMAX = (
    "direct_tile", "direct_bulk", "pool_folded_fp16", "pool_folded_bf16", "pool_folded_tf32",
    "pool_folded_tf32_in_fp16", "pool_folded_ieee", "pool_folded_wgmma_fp16",
    "pool_folded_wgmma_bf16", "pool_folded_wgmma_tf32", "pool_folded_wgmma_ieee",
)  # fmt: skip
RENAMED = {f"{rung}_winners": f"{rung}_argmax" for rung in _WITH_ARGMAX}
"""The name of today for each older one."""


def current(name: str) -> str:
    """The name of today of a rung."""
    return RENAMED.get(name, name)


def all_names(name: str) -> tuple[str, ...]:
    """A rung's name of today and its older ones."""
    return (current(name), *(old for old, new in RENAMED.items() if new == current(name)))
