"""PyTorch's own convolution: cuDNN on a GPU, oneDNN on a CPU, here in true float32."""

import torch

torch.backends.cudnn.allow_tf32 = False


def kernel(x, weights, bias, stride, padding, activation):
    y = torch.nn.functional.conv2d(x, weights, bias, stride, padding)
    return y.clamp(min=0) if activation == "relu" else y
