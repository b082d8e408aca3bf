"""Problems as ONNX models, for the peers that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.lab.measure.peers.torch_module import parts_of, peers_of
from rooftile.ops import ACTIVATIONS, AnyArray, Array, Pool, Problem

_OPSET, _IR = 17, 8
"""Old enough for every release of the peers that this project still meets."""
_POOLS = {"max": "MaxPool", "average": "AveragePool", "l2": "LpPool"}


def onnx_model(problem: Problem, parameters: Sequence[AnyArray]) -> bytes:
    """A serialised model whose inputs and output are named as the problem's arrays are; the
    parameters are initialisers."""
    import onnx
    from onnx import helper

    (output,) = problem.output_arrays
    graph = OnnxGraph(problem.input_arrays)
    for part, own in parts_of(problem, parameters):
        peers: Any = peers_of(part.operation)
        peers.onnx_nodes(graph, part, own)
        graph.rank = len(part.output_arrays[0].shape)
    graph.nodes[-1].output[0] = output.name
    inputs, outputs = (
        [
            helper.make_tensor_value_info(
                array.name, helper.np_dtype_to_tensor_dtype(array.numpy), list(array.shape)
            )
            for array in arrays
        ]
        for arrays in (problem.input_arrays, problem.output_arrays)
    )
    made = helper.make_graph(graph.nodes, problem.operation, inputs, outputs, graph.constants)
    versions, needed = [helper.make_opsetid("", graph.version)], _IR
    if graph.version > _OPSET:
        needed = helper.find_min_ir_version_for(versions)
    model = helper.make_model(made, opset_imports=versions, ir_version=needed)
    onnx.checker.check_model(model)
    serialised: bytes = model.SerializeToString()
    return serialised


class OnnxGraph:
    """Nodes in order; each takes what the one before gave, and the first one the inputs."""

    def __init__(self, inputs: Sequence[Array]) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.rank = len(inputs[0].shape)
        """Axes of what the last node gave."""
        self.version = _OPSET
        """The version of ONNX's operators that the nodes need."""
        self._last = [array.name for array in inputs]

    def flatten(self) -> None:
        """Images become rows; rows stay rows."""
        if self.rank > 2:
            self.node("Flatten", axis=1)

    def node(self, kind: str, *constants: AnyArray, **attributes: Any) -> None:
        """Add a node that takes the last one's result and constants."""
        from onnx import helper, numpy_helper

        inputs = self._last
        for constant in constants:
            # No array of a problem has a name with a point.
            inputs.append(f"constant.{len(self.constants)}")
            self.constants.append(numpy_helper.from_array(constant, inputs[-1]))
        self._last = [f"result.{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, inputs, self._last, **attributes))

    def activate(self, name: str) -> None:
        """Add an activation, unless it is the identity."""
        if name != "none":
            row = ACTIVATIONS[name]
            self.version = max(self.version, row.onnx_version)
            self.node(row.onnx)

    def window(self, pool: Pool) -> None:
        """Add a pool that has no weights, without its activation."""
        more = {"p": 2} if pool.kind == "l2" else {}
        self.node(_POOLS[pool.kind], kernel_shape=pool.window, strides=pool.stride, **more)

    def pool(self, pool: Pool | None) -> None:
        """Add a pool that has no weights, where there is one."""
        if pool is not None:
            self.window(pool)
            self.activate(pool.activation)
