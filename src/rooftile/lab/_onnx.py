"""Problems as ONNX models, for the peers that read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rooftile.ops import Conv2d, Float32, Linear, Pool, Pool2d, Problem, Softmax
from rooftile.ops.chain import Chain, layers_of

_OPSET, _IR = 17, 8
"""Old enough for every release of the peers that this project still meets."""
_ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"}
_POOLS = {"max": "MaxPool", "average": "AveragePool"}


def onnx_model(problem: Problem, parameters: tuple[Float32, ...]) -> bytes:
    """A serialised model with input ``x``, output ``y`` and the parameters as initialisers."""
    import onnx
    from onnx import helper

    graph = _Graph()
    shares = problem.shares(parameters) if isinstance(problem, Chain) else [(problem, parameters)]
    for layer, own in shares:
        graph.add(layer, own)
    graph.nodes[-1].output[0] = "y"
    value = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, list(shape))
        for name, shape in (("x", problem.input_shape), ("y", layers_of(problem)[-1].output_shape))
    ]
    made = helper.make_graph(graph.nodes, problem.operation, value[:1], value[1:], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    onnx.checker.check_model(model)
    serialised: bytes = model.SerializeToString()
    return serialised


@dataclass
class _Graph:
    """Nodes in order; each takes what the one before gave."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    rank: int = 0

    def add(self, layer: Problem, parameters: tuple[Float32, ...]) -> None:
        if isinstance(layer, Linear) and self.rank == 4:
            self.node("Flatten", axis=1)
        self.rank = len(layer.output_shape)
        if isinstance(layer, Conv2d):
            (vertical, horizontal) = layer.padding
            self.node(
                "Conv", *parameters, kernel_shape=layer.mask, strides=layer.stride,
                pads=[vertical, horizontal, vertical, horizontal],
            )  # fmt: skip
            self.activate(layer.activation)
            self.pool(layer.pool)
        elif isinstance(layer, Linear):
            self.node("Gemm", *parameters, transB=1)
            self.activate(layer.activation)
        elif isinstance(layer, Pool2d):
            self.pool(layer.pool)
        elif isinstance(layer, Softmax):
            self.node("Softmax", axis=1)
        else:
            raise TypeError(f"no ONNX node for {layer}")

    def node(self, kind: str, *constants: Float32, **attributes: Any) -> None:
        from onnx import helper, numpy_helper

        inputs = [self.nodes[-1].output[0] if self.nodes else "x"]
        for constant in constants:
            inputs.append(f"constant{len(self.constants)}")
            self.constants.append(numpy_helper.from_array(constant, inputs[-1]))
        self.nodes.append(helper.make_node(kind, inputs, [f"t{len(self.nodes)}"], **attributes))

    def activate(self, name: str) -> None:
        if name != "none":
            self.node(_ACTIVATIONS[name])

    def pool(self, pool: Pool | None) -> None:
        if pool is not None:
            self.node(_POOLS[pool.kind], kernel_shape=pool.window, strides=pool.stride)
