following = jax.device_put(batch)  # while the step before runs
