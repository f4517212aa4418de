cudaDeviceGetDefaultMemPool(&pool, device);  // once
uint64_t keep = UINT64_MAX;
cudaMemPoolSetAttribute(
    pool, cudaMemPoolAttrReleaseThreshold, &keep);
cudaMallocAsync(&memory, bytes, stream);  // each time
cudaFreeAsync(memory, stream);
