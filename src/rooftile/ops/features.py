"""Features of a problem: what its fields ask for beyond the plain case of its operation.

Every field of a problem that has a default is a feature where its value differs from the default:
``{"stride", "activation:relu", "pool:max", "dtype:float16"}``.  A strategy states which features it
`takes`; the base class refuses the others.  A new field is therefore refused by every strategy that
does not name it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Set
from typing import Any, Final

SIZE: Final = {"size": True}
"""Metadata of a field with a default that counts elements or fills them, and is no feature."""


def described_features(value: Any) -> dict[str, str]:
    """The features of a problem, each with the field and the value that make it a feature."""
    return dict(_features(value, ""))


def _features(value: Any, path: str) -> Iterator[tuple[str, str]]:
    for field in dataclasses.fields(value):
        given = getattr(value, field.name)
        if field.metadata.get("size") or not field.compare or given == field.default:
            continue
        name = f"{path}{field.name}"
        if field.default is not dataclasses.MISSING:
            kind = _kind(given)
            yield f"{name}:{kind}" if kind else name, f"{name}={_shown(given)}"
        if dataclasses.is_dataclass(given):
            yield from _features(given, f"{name}.")


def _kind(value: Any) -> str:
    """The word that tells values of a field apart: a string, or what a dataclass calls itself."""
    if isinstance(value, str):
        return value
    if dataclasses.is_dataclass(value):
        return str(getattr(value, "kind", None) or getattr(value, "name", "") or "custom")
    return ""


def _shown(value: Any) -> str:
    return repr(_kind(value)) if dataclasses.is_dataclass(value) else repr(value)


def features(text: str) -> frozenset[str]:
    """Features as a strategy's `takes` has them: ``features("stride pool:max,l2 dtype:*")``."""
    return frozenset(
        f"{family}{colon}{value}"
        for word in text.split()
        for family, colon, values in (word.partition(":"),)
        for value in values.split(",")
    )


def taken(feature: str, takes: Set[str]) -> bool:
    """True if ``takes`` names a feature, or all of its family as ``activation:*``."""
    family, colon, _ = feature.partition(":")
    return feature in takes or (bool(colon) and f"{family}:*" in takes)


__all__ = ["SIZE", "described_features", "features", "taken"]
