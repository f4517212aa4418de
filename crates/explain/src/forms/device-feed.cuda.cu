cudaMemcpyAsync(next, staged, bytes,  // pinned, allocated once
                cudaMemcpyHostToDevice, feeding);
cudaEventRecord(fed, feeding);
cudaStreamWaitEvent(stream, fed, 0);  // before the step reads it
