step = jax.jit(step)  # the whole step: XLA fuses its kernels
