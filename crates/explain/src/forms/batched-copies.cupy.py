host = numpy.stack(pieces)  # one buffer
gpu = cupy.asarray(host)    # one copy
parts = list(gpu)           # views of it
