# Trains a convolutional network on a small set of images, in many short epochs, with a DataLoader.
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

IMAGES = 256
BATCH = 64
SIDE = 64


class SmallImages(Dataset):
    def __init__(self):
        generator = np.random.default_rng(1)
        self.images = generator.integers(0, 256, (IMAGES, 3, SIDE, SIDE), dtype=np.uint8)
        self.labels = generator.integers(0, 10, IMAGES)

    def __len__(self):
        return IMAGES

    def __getitem__(self, index):
        image = self.images[index]
        if index % 2:
            image = image[:, :, ::-1]
        return (image.astype(np.float32) - 127.5) / 127.5, self.labels[index]


class Trainer:
    def __init__(self, persistent):
        self.loader = DataLoader(
            SmallImages(), batch_size=BATCH, shuffle=True, num_workers=4, pin_memory=True, persistent_workers=persistent
        )
        with torch.device("cuda"):
            layers = [nn.Conv2d(3, 128, 3, padding=1), nn.ReLU()]
            for _ in range(3):
                layers += [nn.Conv2d(128, 128, 3, padding=1), nn.ReLU()]
            self.model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def epoch(self):
        for images, labels in self.loader:
            images = images.to("cuda", non_blocking=True)
            labels = labels.to("cuda", non_blocking=True)
            loss = nn.functional.cross_entropy(self.model(images), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return len(self.loader)


def main():
    trainer = Trainer(persistent="--fixed" in sys.argv)
    trainer.epoch()
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        steps += trainer.epoch()
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
