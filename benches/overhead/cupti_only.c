// The least a CUPTI tracer can do: asks for calls, kernels, copies and synchronizations, and throws the buffers away; with
// CUPTI_ONLY=operations for no calls and no synchronizations. Named in CUDA_INJECTION64_PATH.
#include <cupti.h>
#include <stdint.h>
#include <stdlib.h>

static void request(uint8_t **buffer, size_t *size, size_t *most) {
    *size = 4 << 20;
    *buffer = aligned_alloc(8, *size);
    *most = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    CUpti_Activity *record = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    }
    free(buffer);
}

int InitializeInjection(void) {
    CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                  CUPTI_ACTIVITY_KIND_MEMSET,            CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                  CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};
    cuptiActivityRegisterCallbacks(request, complete);
    size_t count = getenv("CUPTI_ONLY") ? 3 : sizeof kinds / sizeof *kinds;
    for (size_t at = 0; at < count; at++) cuptiActivityEnable(kinds[at]);
    return 1;
}
