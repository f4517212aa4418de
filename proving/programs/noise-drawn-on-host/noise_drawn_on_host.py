# Trains a small convolutional network to remove noise from images.
import sys
import time

import torch
from torch import nn

BATCH = 256
SIDE = 64
CHANNELS = 64


def draw_noise(images):
    return torch.randn(images.shape).to(images.device)


def draw_noise_on_gpu(images):
    return torch.randn_like(images)


class Trainer:
    def __init__(self, draw):
        self.draw = draw
        with torch.device("cuda"):
            layers = [nn.Conv2d(3, CHANNELS, 3, padding=1), nn.ReLU()]
            layers += [nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1), nn.ReLU()]
            self.model = nn.Sequential(*layers, nn.Conv2d(CHANNELS, 3, 3, padding=1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)

    def add_noise(self, images):
        noise = self.draw(images)
        strength = torch.rand(len(images), 1, 1, 1, device=images.device)
        return images + strength * noise, noise

    def step(self, images):
        noisy, noise = self.add_noise(images)
        loss = nn.functional.mse_loss(self.model(noisy), noise)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    trainer = Trainer(draw_noise_on_gpu if "--fixed" in sys.argv else draw_noise)
    images = torch.rand(4, BATCH, 3, SIDE, SIDE, device="cuda")
    for _ in range(5):
        trainer.step(images[0])
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        trainer.step(images[steps % len(images)])
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
