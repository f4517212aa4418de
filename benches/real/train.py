"""Trains a small convolutional network: loader processes, pinned memory, and a loss that is read at each step.

    train.py [STEPS]        prints the last loss; steps a second, and how fast the processor was, on standard error
"""

import sys
import time

import torch
from pace import Pace

BATCH, WARM_UP = 64, 30


class Pictures(torch.utils.data.Dataset):
    """Random pictures, the same each time."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        chance = torch.Generator().manual_seed(at)
        return torch.rand(3, 64, 64, generator=chance), at % 10


class Block(torch.nn.Module):
    """Two convolutions and a way past them."""

    def __init__(self, inner, outer, stride):
        super().__init__()
        layers = [torch.nn.Conv2d(inner, outer, 3, stride, 1, bias=False), torch.nn.BatchNorm2d(outer), torch.nn.ReLU()]
        layers += [torch.nn.Conv2d(outer, outer, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(outer)]
        self.layers = torch.nn.Sequential(*layers)
        self.past = torch.nn.Conv2d(inner, outer, 1, stride, bias=False)

    def forward(self, picture):
        return torch.relu(self.layers(picture) + self.past(picture))


def network():
    widths = [3, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [Block(inner, outer, 1 + (inner != outer)) for inner, outer in zip(widths, widths[1:])]
    return torch.nn.Sequential(*blocks, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(512, 10))


def main(steps):
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    model = network().cuda()
    optimizer, criterion = torch.optim.SGD(model.parameters(), 0.01), torch.nn.CrossEntropyLoss()
    loader = torch.utils.data.DataLoader(Pictures(BATCH * steps), BATCH, num_workers=3, pin_memory=True)
    loss, began, pace = 0.0, time.perf_counter(), Pace()
    for step, (pictures, labels) in enumerate(loader):
        if step == WARM_UP:
            began, pace = time.perf_counter(), Pace()
        pictures, labels = pictures.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        optimizer.zero_grad()
        result = criterion(model(pictures), labels)
        result.backward()
        optimizer.step()
        loss = result.item()
        pace.beat()
    print(f"loss {loss:.4f}")
    print(f"train {(steps - WARM_UP) / (time.perf_counter() - began - pace.seconds):.2f} steps/s", pace, file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
