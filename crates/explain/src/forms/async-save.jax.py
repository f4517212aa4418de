state = jax.device_get(params)
save = threading.Thread(target=numpy.savez, args=(path, *state))
save.start()
save.join()  # before the next one
