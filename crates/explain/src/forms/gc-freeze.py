gc.collect()
gc.freeze()   # once, before the loop: what is there stays
gc.disable()  # then gc.collect() where the GPU has work
