cudaMemcpyAsync(gpu, host, bytes, cudaMemcpyDefault, copies);
cudaEventRecord(copied, copies);  // right after what is needed
cudaStreamWaitEvent(compute, copied, 0);  // no later event
