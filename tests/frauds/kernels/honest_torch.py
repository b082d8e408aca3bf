"""PyTorch's own convolution, with its threads: a vendor's library, which must be allowed."""

import torch


def kernel(x, weights, bias, problem):
    y = torch.nn.functional.conv2d(x, weights, bias, problem.stride, problem.padding)
    if problem.activation == "relu":
        y = torch.relu(y)
    if problem.pool is not None:
        y = torch.nn.functional.max_pool2d(y, problem.pool.window, problem.pool.stride)
    return y
