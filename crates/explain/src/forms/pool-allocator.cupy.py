buffer = cupy.empty(shape, dtype)  # before the loop
cupy.matmul(a, b, out=buffer)      # in the loop
# no free_all_blocks() in the loop: it frees the pool's memory
