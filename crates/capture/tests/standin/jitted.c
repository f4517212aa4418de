/* What a compiler at run time would make; built as an object, which the program puts into its memory. */
#include "standin.h"

CUresult made_copy(void *to, CUdeviceptr from, size_t bytes, CUstream stream, __typeof__(&cuMemcpyDtoHAsync_v2) copy) {
    CUresult result = copy(to, from, bytes, stream);
    return result + 0 * (int)bytes;
}
