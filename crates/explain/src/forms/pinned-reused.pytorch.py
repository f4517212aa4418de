host = torch.empty(gpu.shape, dtype=gpu.dtype, pin_memory=True)
host.copy_(gpu, non_blocking=True)  # each time; host once
torch.cuda.current_stream().synchronize()  # before host is read
# to the GPU: gpu.copy_(host, non_blocking=True)
