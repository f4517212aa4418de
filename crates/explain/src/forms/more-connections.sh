# before the program starts
export CUDA_DEVICE_MAX_CONNECTIONS=32
