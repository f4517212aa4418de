# Trains a deep multilayer perceptron in JAX with Adam, written by hand.
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp

LAYERS = 16
WIDTH = 512
BATCH = 256
LEARNING_RATE = 1e-4
DECAY1 = 0.9
DECAY2 = 0.999
SECONDS = 2.0


def initial_params(key):
    layers = []
    for layer_key in jax.random.split(key, LAYERS):
        weight = jax.random.normal(layer_key, (WIDTH, WIDTH)) / WIDTH**0.5
        layers.append({"weight": weight, "bias": jnp.zeros(WIDTH)})
    return layers


def loss_of(params, inputs, targets):
    hidden = inputs
    for layer in params:
        hidden = hidden + jax.nn.relu(hidden @ layer["weight"] + layer["bias"]) / LAYERS
    return jnp.mean(jnp.square(hidden - targets))


gradients = jax.jit(jax.grad(loss_of))


def adam(params, grads, first, second, step):
    first = jax.tree.map(lambda m, g: DECAY1 * m + (1 - DECAY1) * g, first, grads)
    second = jax.tree.map(lambda v, g: DECAY2 * v + (1 - DECAY2) * g * g, second, grads)
    rate = LEARNING_RATE * jnp.sqrt(1 - DECAY2**step) / (1 - DECAY1**step)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, first, second


class Trainer:
    def __init__(self, update):
        key, data, goal = jax.random.split(jax.random.key(0), 3)
        self.update = update
        self.params = initial_params(key)
        self.first = jax.tree.map(jnp.zeros_like, self.params)
        self.second = jax.tree.map(jnp.zeros_like, self.params)
        self.inputs = jax.random.normal(data, (BATCH, WIDTH))
        self.targets = jax.random.normal(goal, (BATCH, WIDTH))
        self.steps = 0

    def step(self):
        self.steps += 1
        grads = gradients(self.params, self.inputs, self.targets)
        self.params, self.first, self.second = self.update(self.params, grads, self.first, self.second, float(self.steps))


def main():
    trainer = Trainer(jax.jit(adam) if "--fixed" in sys.argv[1:] else adam)
    for _ in range(5):
        trainer.step()
    jax.block_until_ready(trainer.params)

    before = trainer.steps
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        trainer.step()
    jax.block_until_ready(trainer.params)
    print(f"{(trainer.steps - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
