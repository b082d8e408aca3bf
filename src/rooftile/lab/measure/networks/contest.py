"""A whole network against other libraries: examined, timed and judged by the rules of a contest.

The problem is the chain of its layers, which says how scores are judged: `rooftile.ops.Chain`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.devices.device import Device
from rooftile.lab.judge.arithmetic import array_bytes, excuse_of_network
from rooftile.lab.judge.verdict import Verdict
from rooftile.lab.measure.ceilings.cpu import Roof
from rooftile.lab.measure.contest import VERIFIED_ITEMS, Contest
from rooftile.lab.measure.entry import VerifiedCandidate, failed
from rooftile.lab.measure.floor import Traffic
from rooftile.lab.measure.networks.layers import PlanWork
from rooftile.lab.measure.records import Error, Row
from rooftile.nn.definition import NetworkDefinition
from rooftile.nn.gpu_plan import GpuPlan
from rooftile.nn.network import Network
from rooftile.ops import ERROR_MODELS, AnyArray, Chain, Float32
from rooftile.runtime.timing.device import Flush

GIVEN_IMAGES = 512
"""At most this many of the images that are given are compared with the reference."""
REFERENCE_FLOPS = 10**10
"""At most this many FLOPs of the reference are spent on them."""


def random_network(architecture: Network, seed: int) -> Network:
    """The layers with random weights and biases, as a climb's problems have them."""
    _, *arrays = Chain(architecture.problems(1)).random(seed)
    return architecture.with_parameters(
        dict(zip(architecture.parameter_shapes, arrays, strict=True))
    )


class NetworkContest(Contest):
    """One network with its weights, for one batch, on one device.

    ``images`` float32[batch, channels, height, width] are computed, and the first of them verified.
    None stands for random images made from ``seed`` and repeated to the batch; all are verified.
    """

    def __init__(
        self,
        network: NetworkDefinition,
        batch: int,
        device: Device,
        roof: Roof | None = None,
        seed: int = 0,
        report: Callable[[str], None] = lambda line: None,
        *,
        images: Float32 | None = None,
        trusted: bool = True,
    ) -> None:
        problem = Chain(network.problems(batch))
        parameters = tuple(network.parameters[key] for key in network.parameter_shapes)
        some = min(batch, VERIFIED_ITEMS)
        if images is None:
            x = problem.with_batch(some).random(seed)[0]
        else:
            affordable = max(1, REFERENCE_FLOPS * batch // problem.flops)
            some, x = min(batch, GIVEN_IMAGES, affordable), images
        self.network, self._given = network, images is not None
        self._plan_scores: AnyArray | None = None
        super().__init__(
            problem,
            device,
            roof,
            trusted,
            seed=seed,
            report=report,
            verified=some,
            arrays=(x, *parameters),
        )

    def plan(self, plan: GpuPlan) -> Row | VerifiedCandidate:
        """The network as a plan on the contest's GPU; its config is the plan's strategies."""
        row = functools.partial(
            Row, "strategy", "plan", self.device.name, plan.precision, config=plan.strategies
        )
        errors = ERROR_MODELS[plan.precision]
        try:
            start = time.perf_counter()
            plan(self.inputs[0][:1])
            first = 1e3 * (time.perf_counter() - start)
            verdict = self.exam.examine(
                lambda x, out: plan(x, out=out),
                errors,
                repeatable=not any(layer.strategy.atomic for layer in plan.layers),
            )
            if not verdict.passed:
                return row("failed", verdict.reason, cause="wrong", error=Error.of(verdict))
            device: Any = self.device
            with plan.held():
                flush = Flush(device)
            timed = PlanWork(plan, self.inputs[0], flush)
        except Exception as error:
            return failed(row, error)
        size = array_bytes(plan.precision)
        sizes = {array.name: size for array in self.problem.parameter_arrays}

        def result() -> tuple[AnyArray, ...]:
            self._plan_scores = timed.computed()
            return (self._plan_scores,)

        traffic = Traffic.of(self.problem, sizes)
        return VerifiedCandidate(row, plan.precision, errors, timed.work, result, first, traffic)

    def contest(self, plan: GpuPlan, peers: Sequence[Any]) -> tuple[Row, ...]:
        with self.device.on():
            return self.rows([self.plan(plan), *(self.peer(peer) for peer in peers)])

    def excuse(self, verdict: Verdict, precision: str) -> str | None:
        """See `Contest.excuse`: a library rounds between the layers, too."""
        return excuse_of_network(verdict)

    def notes(self, outs: tuple[AnyArray, ...]) -> list[str]:
        """See `Contest.notes`; for images that were given it also compares the classes."""
        found = super().notes(outs)
        interface = self.network.interface
        if not self._given or self._plan_scores is None or interface.regression:
            return found
        scores = np.asarray(outs[0])
        others = int((interface.labels(scores) != interface.labels(self._plan_scores)).sum())
        if others:
            batch = len(scores)
            found.append(f"another class than the plan's for {others:,} of {batch:,} images")
        return found
