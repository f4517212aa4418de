// Does each kind of thing that CUPTI has records of, a fixed number of times, and says what came of it.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                              \
    do {                                                                                                         \
        cudaError_t error = (call);                                                                              \
        if (error != cudaSuccess) {                                                                              \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                                       \
            exit(1);                                                                                             \
        }                                                                                                        \
    } while (0)

const int COUNT = 1 << 18, ROUNDS = 20, LAUNCHES = 10;
const size_t BYTES = COUNT * sizeof(int);

__global__ void add_one(int *values) { values[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

struct Memory {
    int *device, *other, *filled, *pinned, *managed, *pageable;
};

// Every copy that has a direction of its own, fills, kernels in two streams, an event between them, every way to wait.
static void one_round(const Memory &memory, cudaStream_t first, cudaStream_t second, cudaEvent_t event) {
    CHECK(cudaMemcpy(memory.device, memory.pageable, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(memory.other, memory.pinned, BYTES, cudaMemcpyHostToDevice, first));
    CHECK(cudaMemcpyAsync(memory.device, memory.other, BYTES, cudaMemcpyDeviceToDevice, first));
    add_one<<<COUNT / 256, 256, 0, first>>>(memory.device);
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaStreamWaitEvent(second, event, 0));
    CHECK(cudaMemsetAsync(memory.filled, 7, BYTES, second));
    add_one<<<COUNT / 128, 128, 1024, second>>>(memory.device);
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaMemcpyAsync(memory.pinned, memory.device, BYTES, cudaMemcpyDeviceToHost, first));
    CHECK(cudaMemcpy(memory.pageable, memory.device, BYTES, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(memory.device, memory.managed, BYTES, cudaMemcpyDefault));
    CHECK(cudaMemset(memory.filled, 0, BYTES));
    int *pooled;
    CHECK(cudaMallocAsync((void **)&pooled, BYTES, first));
    CHECK(cudaMemcpyAsync(pooled, memory.device, BYTES, cudaMemcpyDeviceToDevice, first));
    CHECK(cudaFreeAsync(pooled, first));
    CHECK(cudaDeviceSynchronize());
}

// A graph of copies, kernels and a fill.
static void graph(const Memory &memory, cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(memory.device, memory.pinned, BYTES, cudaMemcpyHostToDevice, stream));
    add_one<<<COUNT / 256, 256, 0, stream>>>(memory.device);
    add_one<<<COUNT / 256, 256, 0, stream>>>(memory.device);
    CHECK(cudaMemsetAsync(memory.filled, 1, BYTES, stream));
    CHECK(cudaMemcpyAsync(memory.pinned, memory.device, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (int launch = 0; launch < LAUNCHES; launch++) {
        CHECK(cudaGraphLaunch(executable, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
}

int main() {
    Memory memory;
    for (int **place : {&memory.device, &memory.other, &memory.filled}) {
        CHECK(cudaMalloc((void **)place, BYTES));
    }
    CHECK(cudaMallocHost((void **)&memory.pinned, BYTES));
    CHECK(cudaMallocManaged((void **)&memory.managed, BYTES));
    memory.pageable = (int *)calloc(COUNT, sizeof(int));
    for (int at = 0; at < COUNT; at++) {
        memory.pinned[at] = at;
        memory.managed[at] = 2 * at;
    }
    cudaStream_t first, second;
    cudaEvent_t event;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    for (int round = 0; round < ROUNDS; round++) {
        one_round(memory, first, second, event);
    }
    graph(memory, second);
    long sum = 0;
    for (int at = 0; at < COUNT; at++) {
        sum += memory.pinned[at];
    }
    // Each round adds two, each launch of the graph two more.
    long expected = (COUNT - 1L) * COUNT / 2 + 2L * (ROUNDS + LAUNCHES) * COUNT;
    printf("%ld, as expected: %s\n", sum, sum == expected ? "yes" : "no");
    for (int *place : {memory.device, memory.other, memory.filled}) {
        CHECK(cudaFree(place));
    }
    return sum == expected ? 0 : 1;
}
