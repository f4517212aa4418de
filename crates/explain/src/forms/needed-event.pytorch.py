with torch.cuda.stream(copies):
    batch = host.to("cuda", non_blocking=True)
    copied = copies.record_event()  # right after what is needed
current = torch.cuda.current_stream()
current.wait_event(copied)          # not wait_stream(copies)
