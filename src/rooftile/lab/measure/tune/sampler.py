"""Samplers of spaces that are too large to try everything: Optuna's ask-and-tell."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rooftile.errors import DeviceMissing
from rooftile.strategies.contract.gpu import Tunable

SAMPLERS = ("random", "tpe", "gp")
"""Uniform; tree-structured Parzen estimators; a Gaussian process."""
_NEEDS = {"random": ("optuna",), "tpe": ("optuna",), "gp": ("optuna", "scipy", "torch")}
PACKAGES = {"optuna": "optuna>=4.0", "scipy": "scipy>=1.13", "torch": "torch>=2.6"}
"""pip's requirement of each package, as in pyproject.toml."""


class Sampler:
    """Proposes configs, and is told the median time of each.

    To Optuna, a tunable's value is its place among the candidates, so that it knows their
    order; times are logarithms, so that a share of a time is the same everywhere.
    """

    def __init__(self, name: str, tunables: Sequence[Tunable], seed: int) -> None:
        """``name`` is one of `SAMPLERS`.  Raises `DeviceMissing` where a package is missing."""
        missing = [one for one in _NEEDS[name] if importlib.util.find_spec(one) is None]
        if missing:
            packages = " ".join(f'"{PACKAGES[one]}"' for one in missing)
            raise DeviceMissing(
                f"{', '.join(missing)}, which the sampler {name!r} needs",
                f"pip install {packages} (sampler 'exhaustive' needs nothing)",
            )
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        made: Mapping[str, Any] = {
            "random": optuna.samplers.RandomSampler,
            "tpe": optuna.samplers.TPESampler,
            "gp": optuna.samplers.GPSampler,
        }
        self._optuna: Any = optuna
        self._study = optuna.create_study(sampler=made[name](seed=seed))
        self._tunables = tunables
        self._asked: Any = None

    def ask(self) -> dict[str, int]:
        """The next config; answer with `tell` or `decline` before asking again."""
        self._asked = self._study.ask()
        return {
            one.name: one.values[self._asked.suggest_int(one.name, 0, len(one.values) - 1)]
            for one in self._tunables
        }

    def tell(self, median_ms: float | None) -> None:
        """The config's time; None where it cannot run, or was wrong."""
        if median_ms is None:
            self._study.tell(self._asked, state=self._optuna.trial.TrialState.PRUNED)
        else:
            self._study.tell(self._asked, math.log(median_ms))

    def decline(self) -> None:
        """The config is known already."""
        self._study.tell(self._asked, state=self._optuna.trial.TrialState.FAIL)

    def learn(self, config: Mapping[str, int], median_ms: float | None) -> None:
        """Learn an earlier search's trial."""
        if any(config[one.name] not in one.values for one in self._tunables):
            return  # Somebody asked by hand for a value that is no candidate.
        trial, distributions = self._optuna.trial, self._optuna.distributions
        self._study.add_trial(
            trial.create_trial(
                state=trial.TrialState.PRUNED if median_ms is None else trial.TrialState.COMPLETE,
                value=None if median_ms is None else math.log(median_ms),
                params={one.name: one.values.index(config[one.name]) for one in self._tunables},
                distributions={
                    one.name: distributions.IntDistribution(0, len(one.values) - 1)
                    for one in self._tunables
                },
            )
        )
