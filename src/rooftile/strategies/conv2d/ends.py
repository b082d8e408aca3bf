"""How rungs of `conv2d` are told of ghost cells and pools, and why some take fewer than others."""

from __future__ import annotations

from rooftile.ops import Conv2d

BOUNDARY_CODES = {"zero": 0, "replicate": 1, "interior": 2}


def beyond_zeros(problem: Conv2d) -> str | None:
    """Why a rung refuses a problem whose ghost cells are zeros; None where it does not."""
    if problem.ghosts == "zero":
        return None
    return f"its ghost cells are zeros, and the boundary is {problem.ghosts!r}"


def beyond_replicas(problem: Conv2d) -> str | None:
    """Why a rung refuses a problem that has ghost cells, and makes a sum at every position."""
    if problem.ghosts == "interior":
        return "it makes a sum at every position, and the boundary is 'interior'"
    return None


def beyond_means(problem: Conv2d) -> str | None:
    """Why a rung refuses a problem whose pools are maxima and averages, with nothing behind
    them; None where it does not."""
    pool = problem.pool
    if pool is None or (pool.kind in ("max", "average") and pool.activation == "none"):
        return None
    behind = "" if pool.activation == "none" else f" with {pool.activation} behind it"
    return f"its pools are maxima and averages alone, not {pool.kind}{behind}"


def beyond_basics(problem: Conv2d) -> str | None:
    """`beyond_zeros`, then `beyond_means`."""
    return beyond_zeros(problem) or beyond_means(problem)


__all__ = ["BOUNDARY_CODES", "beyond_basics", "beyond_means", "beyond_replicas", "beyond_zeros"]
