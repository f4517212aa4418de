cudaMallocHost(&host, bytes);  // once, not for each copy
cudaMemcpyAsync(
    host, gpu, bytes, cudaMemcpyDeviceToHost, stream);
cudaStreamSynchronize(stream);  // before the host reads it
