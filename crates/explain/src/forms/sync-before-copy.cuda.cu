cudaStreamSynchronize(stream);  // before the copy
