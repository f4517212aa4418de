for (int at = 0; at < steps; ++at)
    step<<<blocks, threads, 0, stream>>>(gpu, at);  // in order
cudaEventRecord(done, stream);
cudaEventSynchronize(done);  // once, before the host reads
