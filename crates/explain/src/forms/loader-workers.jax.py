pool = concurrent.futures.ThreadPoolExecutor(1)
pending = pool.submit(load_batch)  # once
batch = pending.result()           # then in each round
pending = pool.submit(load_batch)
