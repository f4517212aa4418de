cudaStream_t stream;  // once, not for each piece of work
cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
kernel<<<grid, block, 0, stream>>>(arguments);  // each piece
cudaStreamSynchronize(stream);
cudaStreamDestroy(stream);  // when no work is left
