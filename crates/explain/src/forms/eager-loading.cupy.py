step(example)  # once, with the types of later calls
cupy.cuda.Device().synchronize()
