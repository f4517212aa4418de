with torch.cuda.stream(first):  # what work waits for, first
    small.copy_(small_host, non_blocking=True)
with torch.cuda.stream(second):
    large.copy_(large_host, non_blocking=True)
