host = torch.stack(pieces).pin_memory()  # one buffer
gpu = host.to("cuda", non_blocking=True)  # one copy
parts = gpu.unbind()                      # views of it
