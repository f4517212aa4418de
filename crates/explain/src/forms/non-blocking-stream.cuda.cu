cudaStream_t stream;  // once, for what used the default stream
cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
cudaMemsetAsync(memory, 0, bytes, stream);  // not cudaMemset
kernel<<<grid, block, 0, stream>>>(arguments);
cudaStreamSynchronize(stream);
