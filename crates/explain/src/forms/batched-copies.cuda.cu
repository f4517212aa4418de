// All rows at once: pitches are the distances between rows.
cudaMemcpy2DAsync(gpu, gpuPitch, host, hostPitch,
                  rowBytes, rows, cudaMemcpyDefault, stream);
