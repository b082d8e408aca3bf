"""The operations: one module each, with problem, reference, FLOPs and bytes.

"PMPP" stands for Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.
"""

from rooftile.ops.activation import (
    ACTIVATIONS,
    Activation,
    ActivationName,
    FusedActivation,
    activation,
)
from rooftile.ops.formats import FLOAT32, FORMATS, Format, format_of
from rooftile.ops.judgement import Judgement
from rooftile.ops.layers.chain import Chain
from rooftile.ops.layers.conv2d import Conv2d
from rooftile.ops.layers.layer import Layer
from rooftile.ops.layers.linear import Linear
from rooftile.ops.layers.pool2d import Pool2d
from rooftile.ops.layers.pooling import Pool, PoolSpec
from rooftile.ops.layers.softmax import Softmax
from rooftile.ops.named import climbed_shapes, default_shape, named, names, operations, parse
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
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem
from rooftile.ops.registry import register

__all__ = [
    "ACTIVATIONS",
    "ERROR_MODELS",
    "FLOAT32",
    "FORMATS",
    "Activation",
    "ActivationName",
    "AnyArray",
    "Array",
    "Chain",
    "Conv2d",
    "ErrorModel",
    "Float32",
    "Float64",
    "Format",
    "FusedActivation",
    "Judgement",
    "Layer",
    "Linear",
    "Pool",
    "Pool2d",
    "PoolSpec",
    "Precision",
    "Problem",
    "Softmax",
    "activation",
    "admits",
    "check_precision",
    "climbed_shapes",
    "default_shape",
    "format_of",
    "named",
    "names",
    "narrowed",
    "operations",
    "parse",
    "register",
    "rounded",
    "widened",
]
