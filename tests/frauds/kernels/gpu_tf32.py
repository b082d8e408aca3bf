"""cuDNN with TF32, which PyTorch permits convolutions by default."""

import torch

torch.backends.cudnn.allow_tf32 = True


def kernel(x, weights, bias, stride, padding, activation):
    y = torch.nn.functional.conv2d(x, weights, bias, stride, padding)
    return y.clamp(min=0) if activation == "relu" else y
