// The least a CUPTI tracer can do: asks for calls, kernels, copies and synchronizations, and throws the buffers away; with
// CUPTI_ONLY=operations for no calls and no synchronizations. CUPTI_ATTRIBUTES=9=0,5=1 sets attributes of CUPTI by their numbers.
// Named in CUDA_INJECTION64_PATH.
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void set_attributes(const char *list) {
    int attribute, length;
    for (uint64_t value; list && sscanf(list, "%d=%lu%n", &attribute, &value, &length) == 2; list += length + (list[length] == ',')) {
        // Those that switch something have one byte, sizes eight.
        size_t size = attribute < 5 ? 8 : 1;
        CUptiResult result = cuptiActivitySetAttribute((CUpti_ActivityAttribute)attribute, &size, &value);
        if (result != CUPTI_SUCCESS) fprintf(stderr, "attribute %d: error %d\n", attribute, result);
    }
}

int InitializeInjection(void) {
    CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                  CUPTI_ACTIVITY_KIND_MEMSET,            CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                  CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};
    set_attributes(getenv("CUPTI_ATTRIBUTES"));
    cuptiActivityRegisterCallbacks(request, complete);
    size_t count = getenv("CUPTI_ONLY") ? 3 : sizeof kinds / sizeof *kinds;
    for (size_t at = 0; at < count; at++) cuptiActivityEnable(kinds[at]);
    return 1;
}
