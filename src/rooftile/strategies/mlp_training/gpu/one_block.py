"""`one_block`: one block takes all steps of all epochs, with the weights in shared memory. Source:
PMPP, section 5.3."""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.activation import CODES
from rooftile.ops.gradients.mlp_training import MlpTraining
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_SHARED = 48 * 1024
"""Bytes of shared memory that every block may have."""


class OneBlock(GpuStrategy):
    """float32, weights that fit shared memory."""

    operation = "mlp_training"
    name = "one_block"
    summary = "one block takes all steps, with the weights in shared memory"
    tunables = (Tunable("BLOCK", (32, 64, 128), 32),)

    def limits(self, problem: MlpTraining) -> str | None:
        if problem.dtype != "float32":
            return f"{problem.dtype}: the text is float32's"
        needed = 4 * (problem.starts[-1] + 3 * sum(problem.sizes_in_a_row))
        if needed > _SHARED:
            return f"weights and values take {needed} bytes of shared memory, at most {_SHARED}"
        return None

    def macros(self, problem: MlpTraining, config: Config) -> dict[str, int | str]:
        names = (str(CODES.get(name, "SOFTMAX")) for name in problem.layers.activations)
        return {
            "LAYERS": len(problem.layers.counts),
            "SIZES": ", ".join(map(str, problem.sizes_in_a_row)),
            "NAMES": ", ".join(names),
            "USED": sum(1 << CODES[name] for name in {*problem.layers.activations} - {"softmax"}),
            "WEIGHTS": problem.starts[-1],
            "VALUES": sum(problem.sizes_in_a_row),
            **config,
        }

    def steps(self, problem: MlpTraining, config: Config) -> tuple[Step, ...]:
        launch = Launch(self.kernel(), (1, 1, 1), (config["BLOCK"], 1, 1))
        arrays = ("x", "targets", "order", "rates", "weights", "trained", "losses")
        return (Step(launch, (*arrays, problem.epochs, problem.rows)),)


STRATEGY = OneBlock()
