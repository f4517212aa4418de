jax.block_until_ready(step(example))  # compiles and loads, once
