reader = concurrent.futures.ThreadPoolExecutor(1)
following = reader.submit(torch.load, path)  # beside the step
batch = following.result()                   # after it
