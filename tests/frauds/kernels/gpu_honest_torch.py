"""Honest: elementwise PyTorch on the current stream; on the CPU, too."""

import torch
from _direct_torch import direct


def kernel(x, weights, bias, problem):
    assert isinstance(x, torch.Tensor)
    return direct(x, weights, bias, problem)
