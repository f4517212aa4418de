for stream in streams:  # before the threads start
    with torch.cuda.stream(stream):
        torch.ones(1, device="cuda")
torch.cuda.synchronize()
