"""Train a built-in network from nothing with PyTorch, as `rooftile train` does by default.

    python benchmarks/torch_training.py lenet5 --epochs 20 --data DIR --device cuda --precision tf32

The same architecture, images, batches of 64, Adam with a cosine of its learning rate, and images
moved by up to a pixel.  On a GPU all images lie there and a step, with the moving and resizing, is
one captured graph: PyTorch's best.  What is printed is a line of JSON; its ``seconds`` are from the
begin of the process to the accuracy on the test images, everything included.
"""

from __future__ import annotations

import time

_BEGAN = time.perf_counter()

import argparse  # noqa: E402
import json  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import torch  # noqa: E402
from training_steps import rounding, torch_network  # noqa: E402

from rooftile import nn  # noqa: E402
from rooftile.nn.data import load_images  # noqa: E402
from rooftile.nn.training import TrainingOptions  # noqa: E402

_WARM_STEPS = 3
_CLASSIFIED_AT_A_TIME = 1000


class Trainer:
    """A network, its optimiser, and a step on images that lie on the device."""

    def __init__(
        self, network: nn.Network, options: TrainingOptions, images: Any, labels: Any, device: str
    ) -> None:
        assert options.batch is not None
        self.network, self.options, self.device = network, options, device
        self.batch = options.batch
        edge = (options.shift,) * 4
        self.padded = torch.nn.functional.pad(torch.tensor(images, device=device), edge)
        self.labels = torch.tensor(labels, device=device).long()
        self.side = images.shape[-1]
        self.span = torch.arange(self.side, device=device)
        self.model = torch_network(network).to(device)
        self.rate = torch.tensor(options.learning_rate, device=device)
        graphed: dict[str, Any] = {"capturable": True, "fused": True} if device == "cuda" else {}
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=self.rate, **graphed)
        self.items = torch.zeros(self.batch, dtype=torch.int64, device=device)
        self.moved = torch.zeros(2, self.batch, 1, dtype=torch.int64, device=device)
        self.loss = torch.zeros((), device=device)

    def prepared(self, images: Any) -> Any:
        """Images uint8[n, height, width] as the network takes them."""
        assert self.network.pixels is not None
        numbers, size = images[:, None].float() / 255, self.network.input_shape[1:]
        if numbers.shape[2:] != size:
            numbers = torch.nn.functional.interpolate(numbers, size, mode="bilinear")
        return (numbers - self.network.pixels.mean[0]) / self.network.pixels.deviation[0]

    def step(self) -> None:
        """One batch: gathered, moved, resized, learned from."""
        down, right = self.moved[0] + self.span, self.moved[1] + self.span
        batch = self.padded[self.items[:, None, None], down[:, :, None], right[:, None, :]]
        self.optimiser.zero_grad(set_to_none=False)
        with rounding(self.options.precision):
            scores = self.model(self.prepared(batch))
            loss = torch.nn.functional.cross_entropy(scores, self.labels[self.items])
        loss.backward()
        self.optimiser.step()
        self.loss.add_(loss.detach())

    def quickest_step(self) -> Callable[[], None]:
        """The step, on a GPU as a graph; nothing is learned meanwhile."""
        if self.device != "cuda":
            return self.step
        kept = [parameter.detach().clone() for parameter in self.model.parameters()]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(_WARM_STEPS):
                self.step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        with torch.no_grad():
            for parameter, before in zip(self.model.parameters(), kept, strict=True):
                parameter.copy_(before)
            for state in self.optimiser.state.values():
                for value in state.values():
                    value.zero_()
        replay: Callable[[], None] = graph.replay
        return replay

    def epoch(self, number: int, step: Callable[[], None]) -> float:
        """The mean loss of a pass over the images in a new order."""
        batch, count = self.batch, len(self.labels)
        steps, positions = count // batch, 2 * self.options.shift + 1
        order = torch.randperm(count, device=self.device)
        moved = torch.randint(0, positions, (steps, 2, batch, 1), device=self.device)
        self.loss.zero_()
        for at in range(steps):
            self.rate.fill_(self.options.rate((number + at / steps) / self.options.epochs))
            self.items.copy_(order[at * batch : (at + 1) * batch])
            self.moved.copy_(moved[at])
            step()
        return float(self.loss) / steps

    def accuracy(self, images: Any, labels: Any) -> float:
        """The share of images whose largest score is their label's."""
        right = 0
        for first in range(0, len(images), _CLASSIFIED_AT_A_TIME):
            part = slice(first, first + _CLASSIFIED_AT_A_TIME)
            given = torch.tensor(images[part], device=self.device)
            with torch.no_grad(), rounding(self.options.precision):
                found = self.model(self.prepared(given)).argmax(dim=1).cpu().numpy()
            right += int((found == labels[part]).sum())
        return right / len(images)


def main() -> None:
    """Train, and print a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=sorted(nn.MODELS))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--precision", default="ieee", choices=("ieee", "tf32", "bf16"))
    parser.add_argument("--epochs", type=int, default=TrainingOptions().epochs)
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    options = TrainingOptions(epochs=arguments.epochs, precision=arguments.precision, shift=1)
    images = load_images("train", arguments.data, arguments.limit)
    test = load_images("test", arguments.data, arguments.limit)
    network = nn.architecture(arguments.model).initialise(1)
    trainer = Trainer(network, options, images.images, images.labels, arguments.device)
    step = trainer.quickest_step()
    losses = [trainer.epoch(number, step) for number in range(options.epochs)]
    right = trainer.accuracy(test.images, test.labels)
    row = {"torch": torch.__version__, "model": arguments.model, "precision": options.precision}
    row |= {"losses": losses, "accuracy": right, "seconds": time.perf_counter() - _BEGAN}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
