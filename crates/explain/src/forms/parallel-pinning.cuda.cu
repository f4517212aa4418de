void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#pragma omp parallel for  // touches the pages
for (size_t at = 0; at < bytes; at += 4096)
    static_cast<char*>(memory)[at] = 0;
cudaHostRegister(memory, bytes, cudaHostRegisterDefault);
