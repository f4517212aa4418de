cudaStream_t stream;  // once in each thread
cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
kernel<<<grid, block, 0, stream>>>(arguments);
