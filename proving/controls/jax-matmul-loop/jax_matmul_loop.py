# Finds dominant subspaces of large matrices in JAX by repeated products within one compiled loop.
import os
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp

SIZE = 4096
PRODUCTS = 100
SECONDS = 2.0


@jax.jit
def iterate(matrix, basis):
    def multiply(_, current):
        product = jnp.matmul(matrix, current)
        return product * jax.lax.rsqrt(jnp.mean(jnp.square(product.astype(jnp.float32)))).astype(product.dtype)

    return jax.lax.fori_loop(0, PRODUCTS, multiply, basis)


class SubspaceIteration:
    def __init__(self):
        left, right = jax.random.split(jax.random.key(0))
        self.matrix = jax.random.normal(left, (SIZE, SIZE), dtype=jnp.bfloat16)
        self.basis = jax.random.normal(right, (SIZE, SIZE), dtype=jnp.bfloat16)
        self.rounds = 0

    def round(self):
        previous = self.basis
        self.basis = iterate(self.matrix, previous)
        previous.block_until_ready()
        self.rounds += 1


def main():
    subspace = SubspaceIteration()
    for _ in range(3):
        subspace.round()
    subspace.basis.block_until_ready()

    before = subspace.rounds
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        subspace.round()
    subspace.basis.block_until_ready()
    print(f"{(subspace.rounds - before) / (time.perf_counter() - start):.1f} per second")


if __name__ == "__main__":
    main()
