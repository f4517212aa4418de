host = cupyx.empty_pinned(gpu.shape, gpu.dtype)  # once
gpu.get(out=host, blocking=False)                # each time
cupy.cuda.get_current_stream().synchronize()     # before a read
# to the GPU: gpu.set(host)
