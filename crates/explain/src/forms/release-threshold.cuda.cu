cudaDeviceGetDefaultMemPool(&pool, device);  // once, at first
uint64_t keep = UINT64_MAX;
cudaMemPoolSetAttribute(
    pool, cudaMemPoolAttrReleaseThreshold, &keep);
