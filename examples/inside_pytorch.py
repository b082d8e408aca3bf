"""A call inside PyTorch: tensors go in where they lie, and tensors come out.

On a GPU the same call runs on PyTorch's current stream, without a copy (docs/do/arrays.md).
"""

import torch

import rooftile


class Convolution(torch.nn.Module):
    """Convolution, bias, ReLU and 2 x 2 max-pool in one kernel, for inference."""

    def __init__(self, layer: torch.nn.Conv2d) -> None:
        """Take the weights of PyTorch's layer, packed once where they lie."""
        super().__init__()
        assert layer.bias is not None
        self.convolve = rooftile.Conv2d(
            layer.weight.detach(), layer.bias.detach(), activation="relu", pool=("max", 2)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, channels, height, width] to the pooled maps."""
        return self.convolve(x)


device = "cuda" if torch.cuda.is_available() else "cpu"
layer = torch.nn.Conv2d(1, 8, 5).to(device)
ours = torch.nn.Sequential(Convolution(layer), torch.nn.Flatten())
theirs = torch.nn.Sequential(layer, torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten())
x = torch.randn(64, 1, 28, 28, device=device)
with torch.no_grad():
    apart = (ours(x) - theirs(x)).abs().max().item()
print(f"{tuple(ours(x).shape)} on {device}, at most {apart:.1e} from PyTorch's")
