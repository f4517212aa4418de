# Transcribes batches of spectrograms of varying length with a small convolutional front end and a linear encoder.
import random
import sys
import time

import torch
from torch import nn

BATCH = 16
BANDS = 80
LONGEST = 1600
WIDTH = 1024


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 64, kernel_size=3, stride=2, padding=1)
        self.second = nn.Conv2d(64, 128, kernel_size=3, stride=2, padding=1)
        layers = [nn.Linear(128 * BANDS // 4, WIDTH), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(WIDTH, 64))

    def convolve(self, spectrogram):
        x = torch.relu(self.first(spectrogram))
        return torch.relu(self.second(x))

    def forward(self, spectrogram):
        x = self.convolve(spectrogram)
        return self.layers(x.permute(0, 3, 1, 2).flatten(2)).argmax(dim=2)


def batches(pad):
    """Yields batches, each as long as its longest spectrogram, or padded to one length for all."""
    recording = torch.randn(BATCH, 1, BANDS, LONGEST, device="cuda")
    lengths = random.Random(7)
    while True:
        length = lengths.randrange(800, LONGEST)
        batch = recording[..., :length].contiguous()
        yield nn.functional.pad(batch, (0, LONGEST - length)) if pad else batch


@torch.inference_mode()
def main():
    torch.backends.cudnn.benchmark = True
    with torch.device("cuda"):
        model = Encoder().eval()
    source = batches(pad="--fixed" in sys.argv)
    for _ in range(2):
        model(next(source))
    torch.cuda.synchronize()

    start = time.perf_counter()
    steps = 0
    while time.perf_counter() - start < 2:
        model(next(source))
        steps += 1
    torch.cuda.synchronize()
    print(f"{steps / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
