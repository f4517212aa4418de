# Simulates heat in a plate in JAX, with a conductivity that is looked up in a measured table.
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp
import numpy as np

SIZE = 1024
SUBSTEPS = 20
SECONDS = 2.0

TEMPERATURES = np.linspace(0.0, 1000.0, 64).astype(np.float32)
CONDUCTIVITIES = (0.05 + 0.15 * np.exp(-TEMPERATURES / 300.0)).astype(np.float32)


def interpolate(plate):
    return np.interp(np.asarray(plate), TEMPERATURES, CONDUCTIVITIES).astype(np.float32)


def lookup_in_numpy(plate):
    return jax.pure_callback(interpolate, jax.ShapeDtypeStruct(plate.shape, plate.dtype), plate)


def lookup_in_jax(plate):
    return jnp.interp(plate, jnp.asarray(TEMPERATURES), jnp.asarray(CONDUCTIVITIES))


def diffuse(plate, conductivity):
    north, south = jnp.roll(plate, 1, axis=0), jnp.roll(plate, -1, axis=0)
    west, east = jnp.roll(plate, 1, axis=1), jnp.roll(plate, -1, axis=1)
    return plate + conductivity * (north + south + west + east - 4.0 * plate)


def make_step(lookup):
    @jax.jit
    def step(plate):
        conductivity = lookup(plate)
        return jax.lax.fori_loop(0, SUBSTEPS, lambda _, p: diffuse(p, conductivity), plate)

    return step


def simulate(step, plate, seconds):
    steps = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        plate = step(plate)
        steps += 1
    plate.block_until_ready()
    return steps / (time.perf_counter() - start)


def main():
    step = make_step(lookup_in_jax if "--fixed" in sys.argv[1:] else lookup_in_numpy)
    plate = 1000.0 * jax.random.uniform(jax.random.key(1), (SIZE, SIZE))
    for _ in range(3):
        plate = step(plate)
    plate.block_until_ready()
    print(f"{simulate(step, plate, SECONDS):.1f} per second")


if __name__ == "__main__":
    main()
