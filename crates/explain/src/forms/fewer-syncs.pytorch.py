start, end = (torch.cuda.Event(enable_timing=True) for _ in "12")
start.record()
step()
end.record()       # no torch.cuda.synchronize() around each step
end.synchronize()  # once, when the time is printed
print(start.elapsed_time(end))
