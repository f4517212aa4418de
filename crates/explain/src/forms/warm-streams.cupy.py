for stream in streams:  # before the threads start
    with stream:
        cupy.ones(1)
    stream.synchronize()
