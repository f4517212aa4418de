# before the program starts: how many streams, at most 32
export CUDA_DEVICE_MAX_CONNECTIONS=16
