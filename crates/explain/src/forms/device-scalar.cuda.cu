cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
cublasSnrm2(handle, n, x, 1, norm);  // norm is device memory
