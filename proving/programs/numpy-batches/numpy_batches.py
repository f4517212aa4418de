# Trains a small regression network in JAX on a set of spectra that is held in memory.
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp
import numpy as np

SPECTRA = 4096
CHANNELS = 16384
HIDDEN = 1024
BATCH = 1024
LEARNING_RATE = 1e-4
SECONDS = 2.0


def predict(params, spectra):
    hidden = jax.nn.gelu(spectra @ params["inner"])
    return hidden @ params["outer"]


def loss_of(params, spectra, targets):
    return jnp.mean(jnp.square(predict(params, spectra) - targets))


@jax.jit
def train_step(params, spectra, targets):
    loss, grads = jax.value_and_grad(loss_of)(params, spectra, targets)
    return jax.tree.map(lambda p, g: p - LEARNING_RATE * g, params, grads), loss


class Trainer:
    def __init__(self, batches):
        self.batches = batches
        inner, outer = jax.random.split(jax.random.key(0))
        self.params = {
            "inner": jax.random.normal(inner, (CHANNELS, HIDDEN)) / CHANNELS**0.5,
            "outer": jax.random.normal(outer, (HIDDEN, 1)) / HIDDEN**0.5,
        }
        self.steps = 0
        self.loss = None

    def step(self):
        spectra, targets = self.batches[self.steps % len(self.batches)]
        self.params, self.loss = train_step(self.params, spectra, targets)
        self.steps += 1


def load_batches():
    rng = np.random.default_rng(3)
    spectra = rng.random((SPECTRA, CHANNELS), dtype=np.float32)
    targets = spectra[:, :16].sum(axis=1, keepdims=True)
    return [(spectra[first : first + BATCH], targets[first : first + BATCH]) for first in range(0, SPECTRA, BATCH)]


def main():
    batches = load_batches()
    if "--fixed" in sys.argv[1:]:
        batches = jax.device_put(batches)
    trainer = Trainer(batches)
    for _ in range(4):
        trainer.step()
    trainer.loss.block_until_ready()

    before = trainer.steps
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        trainer.step()
    trainer.loss.block_until_ready()
    print(f"{(trainer.steps - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
