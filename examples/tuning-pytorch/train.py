"""A small convolutional network on made-up images of 28 x 28: prints how many samples it trains in a second."""

from __future__ import annotations

import argparse
import sys
import time

import torch


def main() -> None:
    """Train for so many samples, after one step that does not count."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--batch", type=int, default=8)
    options.add_argument("--samples", type=int, default=4096)
    asked = options.parse_args()
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * 7 * 7, 10),
    )
    learner = torch.optim.SGD(network.parameters(), lr=0.01)
    images, labels = torch.randn(asked.samples, 1, 28, 28), torch.randint(10, (asked.samples,))
    loss_of = torch.nn.CrossEntropyLoss()

    def step(first: int) -> None:
        learner.zero_grad()
        loss_of(network(images[first : first + asked.batch]), labels[first : first + asked.batch]).backward()
        learner.step()

    step(0)
    begun = time.perf_counter()
    for first in range(0, asked.samples, asked.batch):
        step(first)
    took = time.perf_counter() - begun
    sys.stdout.write(f"threads: {torch.get_num_threads()}\nthroughput: {asked.samples / took:.1f} samples/s\n")


main()
