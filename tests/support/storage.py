"""Problems whose arrays are stored as the macros of a rung's text say."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rooftile.errors import InputError
from rooftile.ops import FORMATS
from rooftile.strategies.contract.gpu import GpuStrategy


def needed(rung: Any, problems: Iterable[Any]) -> list[Any]:
    """Problems with what the rung requires of them, as far as they can have it; those of any other
    rung as they are."""
    if not rung.requires:
        return list(problems)
    found = []
    for problem in problems:
        with suppress(InputError):
            ways = ({}, dict.fromkeys(rung.stores, 1))
            both = [stored_by(rung, problem, flags)[0] for flags in ways]
            found.append(next((one for one in both if rung.why_not(one) is None), both[0]))
    return found


def stored_by(rung: GpuStrategy, problem: Any, config: Any) -> tuple[Any, dict[str, int]]:
    """The problem with arrays stored as the rung needs it and as ``config`` says by macros of
    `GpuStrategy.stores`, such as ``{"X_NARROW": 1}``, and the tunables of the config.

    A problem of a rung with places as an output returns them.
    """
    config = dict(config or {})
    if "returns" in rung.requires:
        problem = dataclasses.replace(problem, returns=("y", "argmax"))
    words: dict[str, list[str]] = {}
    for feature in rung.requires:
        if feature.startswith("storage:"):
            _, name, how = feature.split(":")
            words.setdefault(name, []).append(how)
    for macro, told in rung.stores.items():
        names, _, how = told.partition(":")
        if config.pop(macro, 0) and (how != "narrow" or rung.narrow):
            how = FORMATS[rung.narrow].dtype if how == "narrow" else how
            for name in names.split(","):
                if problem.array(name) is not None and how not in words.setdefault(name, []):
                    words[name].append(how)
    return problem.stored(**{name: ":".join(how) for name, how in words.items()}), config
