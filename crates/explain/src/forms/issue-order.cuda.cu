// what work waits for, first
cudaMemcpyAsync(small, a, few, cudaMemcpyDefault, first);
cudaMemcpyAsync(large, b, many, cudaMemcpyDefault, second);
