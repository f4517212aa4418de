buffer = torch.empty(shape, device="cuda")  # before the loop
torch.matmul(a, b, out=buffer)              # in the loop
# no torch.cuda.empty_cache() in the loop: it frees the cache
