torch.cuda.current_stream().synchronize()  # before the copy
