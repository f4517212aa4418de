cudaFuncAttributes attributes;  // for each kernel, at the start
cudaFuncGetAttributes(&attributes, kernel);  // loads its code
