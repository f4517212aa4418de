"""holdup: why a CUDA program's threads, streams and GPUs wait."""
