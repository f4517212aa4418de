for (cudaStream_t stream : streams)  // before the threads start
    empty<<<1, 1, 0, stream>>>();
cudaDeviceSynchronize();
