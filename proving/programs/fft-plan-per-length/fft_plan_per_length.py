# Searches radar echoes of different lengths for a chirp, with a correlation by FFT in CuPy.
import sys
import time

import cupy as cp
import numpy as np

ANTENNAS = 4
SHORTEST = 20000
LONGEST = 60000
CHIRP = 2048
SECONDS = 2.0


def full_length(echo, chirp):
    return echo + chirp - 1


def power_of_two(echo, chirp):
    return 1 << (echo + chirp - 2).bit_length()


class EchoSearch:
    def __init__(self, length_of):
        rng = np.random.default_rng(11)
        self.length_of = length_of
        self.lengths = rng.permutation(np.arange(SHORTEST, LONGEST)).tolist()
        phase = np.pi * np.arange(CHIRP) ** 2 / CHIRP
        self.chirp = cp.asarray(np.exp(1j * phase).astype(np.complex64))
        noise = rng.standard_normal((2, ANTENNAS, LONGEST), dtype=np.float32)
        self.record = cp.asarray(noise[0] + 1j * noise[1])
        self.best = cp.zeros(ANTENNAS, dtype=cp.float32)
        self.done = 0

    def correlate(self, echo, size):
        spectrum = cp.fft.fft(echo, size)
        spectrum *= cp.fft.fft(self.chirp, size).conj()
        return cp.fft.ifft(spectrum)

    def search(self):
        length = self.lengths[self.done % len(self.lengths)]
        match = self.correlate(self.record[:, :length], self.length_of(length, CHIRP))
        cp.maximum(self.best, cp.abs(match).max(axis=1), out=self.best)
        self.done += 1


def main():
    search = EchoSearch(power_of_two if "--fixed" in sys.argv[1:] else full_length)
    for _ in range(10):
        search.search()
    cp.cuda.Device().synchronize()

    before = search.done
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        search.search()
    cp.cuda.Device().synchronize()
    print(f"{(search.done - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
