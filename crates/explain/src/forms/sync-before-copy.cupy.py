cupy.cuda.get_current_stream().synchronize()  # before the copy
