reader = concurrent.futures.ThreadPoolExecutor(1)
following = reader.submit(numpy.load, path)  # beside the step
batch = cupy.asarray(following.result())     # after it
