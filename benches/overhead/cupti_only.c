// The least a CUPTI tracer can do: asks for calls, kernels, copies and synchronizations, and throws the buffers away; with
// CUPTI_ONLY=operations for no calls and no synchronizations. CUPTI_ATTRIBUTES=9=0,5=1 sets attributes of CUPTI by their numbers.
// Named in CUDA_INJECTION64_PATH, or loaded by a program that calls `cupti_only_start`.
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

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMSET,            CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                           CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};

static size_t kind_count(void) {
    return getenv("CUPTI_ONLY") ? 3 : sizeof kinds / sizeof *kinds;
}

void cupti_only_resume(void) {
    for (size_t at = 0; at < kind_count(); at++) cuptiActivityEnable(kinds[at]);
}

void cupti_only_pause(void) {
    for (size_t at = 0; at < kind_count(); at++) cuptiActivityDisable(kinds[at]);
}

// Detaches CUPTI from the process.
void cupti_only_end(void) {
    cuptiActivityFlushAll(1);
    CUptiResult result = cuptiFinalize();
    if (result != CUPTI_SUCCESS) fprintf(stderr, "cuptiFinalize: error %d\n", result);
}

void cupti_only_start(void) {
    set_attributes(getenv("CUPTI_ATTRIBUTES"));
    cuptiActivityRegisterCallbacks(request, complete);
    cupti_only_resume();
}

int InitializeInjection(void) {
    cupti_only_start();
    return 1;
}
