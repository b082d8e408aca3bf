"""What is computed: one module an operation, with problem, reference, FLOPs and bytes."""

from rooftile.ops.activation import (
    ACTIVATIONS,
    Activation,
    ActivationName,
    FusedActivation,
    activation,
)
from rooftile.ops.chain import Chain, layers_of
from rooftile.ops.conv2d import Conv2d
from rooftile.ops.linear import Linear
from rooftile.ops.named import named, names, operations, parse
from rooftile.ops.pool2d import Pool2d
from rooftile.ops.pooling import Pool, PoolSpec
from rooftile.ops.precision import (
    ERROR_MODELS,
    ErrorModel,
    Precision,
    admits,
    check_precision,
    narrowed,
    rounded,
    widened,
)
from rooftile.ops.problem import Float32, Float64, Problem
from rooftile.ops.softmax import Softmax

__all__ = [
    "ACTIVATIONS", "ERROR_MODELS", "Activation", "ActivationName", "Chain", "Conv2d",
    "ErrorModel", "Float32", "Float64", "FusedActivation", "Linear", "Pool", "Pool2d", "PoolSpec",
    "Precision", "Problem", "Softmax", "activation", "admits", "check_precision", "layers_of",
    "named", "names", "narrowed", "operations", "parse", "rounded", "widened",
]  # fmt: skip
