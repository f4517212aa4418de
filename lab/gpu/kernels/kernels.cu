// The kernels that a Workload launches. `make.py` makes `kernels.ptx` of this; `../src/kernels.rs` names each and says
// what it is passed. Grids and blocks are one-dimensional.

extern "C" __global__ void holdup_empty() {}

// Keeps a multiprocessor busy for `cycles` of its clock.
extern "C" __global__ void holdup_delay(unsigned long long cycles)
{
    const long long begin = clock64();
    while (static_cast<unsigned long long>(clock64() - begin) < cycles) {
    }
}

// to[i] = from[i] + value, for quads of elements; each thread's first quad then goes through `rounds` sums of absolute
// differences that change nothing. With 5 blocks of 64 threads and 3,072 rounds that is the kernel of seed 000.
extern "C" __global__ void holdup_add_constant(const int4 *from, int4 *to, int value, unsigned quads, unsigned rounds)
{
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned at = first; at < quads; at += gridDim.x * blockDim.x) {
        int4 quad = from[at];
        quad = make_int4(quad.x + value, quad.y + value, quad.z + value, quad.w + value);
        if (at == first) {
            // As compilers unroll it where the number of rounds is a constant, as in the seed: 3 % faster than by 4.
#pragma unroll 32
            for (unsigned round = 0; round < rounds; round++) {
                quad.x = __sad(quad.x, quad.x, quad.x);
                quad.y = __sad(quad.y, quad.y, quad.y);
                quad.z = __sad(quad.z, quad.z, quad.z);
                quad.w = __sad(quad.w, quad.w, quad.w);
            }
        }
        to[at] = quad;
    }
}

// Adds 1 to a float a thread, `rounds` times, the hard way. The angle differs from round to round, or the compiler
// would compute it once.
extern "C" __global__ void holdup_increment(float *floats, unsigned long long offset, unsigned length, unsigned rounds)
{
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= length) {
        return;
    }
    float sum = floats[offset + at];
    for (unsigned round = 0; round < rounds; round++) {
        const float angle = static_cast<float>(at + round);
        const float sine = sinf(angle), cosine = cosf(angle);
        sum += sqrtf(sine * sine + cosine * cosine);
    }
    floats[offset + at] = sum;
}

// c = a × b in row-major order, all dimensions multiples of 32. A block of 1,024 threads makes a tile of c; tiles are
// numbered row by row.
extern "C" __global__ void holdup_matrix_product(const float *a, const float *b, float *c, unsigned inner, unsigned columns)
{
    constexpr unsigned TILE = 32;
    __shared__ float part_a[TILE][TILE], part_b[TILE][TILE];
    const unsigned x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    const unsigned tiles_a_row = columns / TILE;
    const size_t row = blockIdx.x / tiles_a_row * TILE + y;
    const size_t column = blockIdx.x % tiles_a_row * TILE + x;
    float sum = 0;
    for (unsigned tile = 0; tile < inner; tile += TILE) {
        part_a[y][x] = a[row * inner + tile + x];
        part_b[y][x] = b[(tile + y) * static_cast<size_t>(columns) + column];
        __syncthreads();
        for (unsigned at = 0; at < TILE; at++) {
            sum += part_a[y][at] * part_b[at][x];
        }
        __syncthreads();
    }
    c[row * columns + column] = sum;
}

// The sum over a block of one value a thread, in thread 0. Blocks have any size up to 1,024.
__device__ float block_sum(float value)
{
    __shared__ float sums[1024];
    sums[threadIdx.x] = value;
    for (unsigned count = blockDim.x; count > 1;) {
        __syncthreads();
        const unsigned half = (count + 1) / 2;
        if (threadIdx.x < count - half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        count = half;
    }
    return sums[0];
}

// partial[block] = the sum of the squares of the block's elements.
extern "C" __global__ void holdup_norm_partial(const float *from, float *partial, unsigned length)
{
    float sum = 0;
    for (size_t at = blockIdx.x * blockDim.x + threadIdx.x; at < length; at += gridDim.x * blockDim.x) {
        sum += from[at] * from[at];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

// to[0] = the root of the sum of `partial`; one block.
extern "C" __global__ void holdup_norm_final(const float *partial, float *to, unsigned length)
{
    float sum = 0;
    for (unsigned at = threadIdx.x; at < length; at += blockDim.x) {
        sum += partial[at];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        to[0] = sqrtf(sum);
    }
}

__device__ void divide(float *floats, unsigned length, float by)
{
    for (size_t at = blockIdx.x * blockDim.x + threadIdx.x; at < length; at += gridDim.x * blockDim.x) {
        floats[at] /= by;
    }
}

// floats[i] /= by, which the kernel reads from the device's memory.
extern "C" __global__ void holdup_scale_by_device(float *floats, unsigned length, const float *by)
{
    divide(floats, length, *by);
}

// floats[i] /= by, which the host knew when it launched the kernel.
extern "C" __global__ void holdup_scale_by_host(float *floats, unsigned length, float by)
{
    divide(floats, length, by);
}
