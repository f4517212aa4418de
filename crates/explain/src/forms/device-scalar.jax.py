losses = []                    # before the loop
losses.append(loss)            # instead of float(loss)
print(jax.device_get(losses))  # once, after the loop
