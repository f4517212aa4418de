small.set(small_host, stream=first)  # what work waits for, first
large.set(large_host, stream=second)
