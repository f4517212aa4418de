"""Runs the applied forms of fixes (crates/explain/src/forms) on a GPU: those of PyTorch, CuPy and JAX with the names that they use, those
of CUDA C++ compiled by nvcc. What is not installed is skipped, and named.

    python3 crates/explain/tests/gpu/forms.py
"""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

FORMS = pathlib.Path(__file__).resolve().parents[2] / "src/forms"

# What the forms use: the names of the user's program.
BEFORE = {
    "pytorch": """
import torch
gpu = torch.ones(1 << 20, device="cuda")
loss = torch.ones((), device="cuda")
a = b = torch.ones(64, 64, device="cuda")
shape = (64, 64)
static_input = batch = example = torch.ones(64, 64, device="cuda")
step = lambda x: x @ x
streams = [torch.cuda.Stream() for _ in range(2)]
first, second = streams
small_host, large_host = torch.ones(4, pin_memory=True), torch.ones(1 << 20, pin_memory=True)
small, large = torch.empty(4, device="cuda"), torch.empty(1 << 20, device="cuda")
gpus = 1
step(example)
torch.cuda.synchronize()
""",
    "cupy": """
import cupy, cupyx, numpy
gpu = cupy.ones(1 << 20)
loss = cupy.ones(())
a = b = cupy.ones((64, 64))
shape, dtype = (64, 64), a.dtype
example = out = a.copy()
step = lambda x=a: cupy.add(x, x, out=out)
streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
first, second = streams
stream = first
small_host, large_host = cupyx.empty_pinned(4), cupyx.empty_pinned(1 << 20)
small, large = cupy.empty(4), cupy.empty(1 << 20)
step()
cupy.cuda.Device().synchronize()
""",
    "jax": """
import jax, jax.numpy
example = jax.numpy.ones((64, 64))
loss = jax.numpy.ones(())
step = lambda x: x @ x
""",
}
# What some forms use besides.
OWN = {
    "loader-workers.pytorch": "dataset = torch.utils.data.TensorDataset(torch.ones(256, 4))",
    "read-ahead.pytorch": "import concurrent.futures; path = 'saved.pt'; torch.save(torch.ones(4), path)",
    "read-ahead.cupy": "import concurrent.futures; path = 'saved.npy'; numpy.save(path, numpy.ones(4))",
    "async-save.pytorch": "import threading; model = torch.nn.Linear(4, 4).cuda(); path = 'saved.pt'",
    "device-feed.pytorch": "batch = torch.ones(64, 64)",
    "fixed-shapes.pytorch": "batch = torch.ones(1, 70)",
    "foreach.pytorch": "model = torch.nn.Linear(4, 4).cuda()",
    "device-feed.cupy": "batch = numpy.ones((64, 64))",
    "loader-workers.jax": "import concurrent.futures; load_batch = lambda: 7",
    "async-save.jax": "import numpy, threading; params = [example]; path = 'saved.npz'",
    "device-feed.jax": "import numpy; batch = numpy.ones((60, 4))",
    "fixed-shapes.jax": "batch = jax.numpy.ones((60, 4))",
}
# What must hold afterwards.
AFTER = {
    "loader-workers.pytorch": "assert sum(len(batch) for batch, in loader) == 256",
    "async-save.pytorch": "assert torch.load(path)['weight'].device.type == 'cpu'",
    "read-ahead.pytorch": "assert batch.sum() == 4",
    "read-ahead.cupy": "assert batch.sum() == 4",
    "device-feed.pytorch": "torch.cuda.synchronize(); assert (following == 1).all()",
    "fixed-shapes.pytorch": "assert batch.shape == (1, 128) and batch.sum() == 70",
    "foreach.pytorch": "assert optimizer.defaults['fused']",
    "device-feed.cupy": "stream.synchronize(); assert (following == 1).all()",
    "fixed-shapes.cupy": "assert (kernel(cupy.ones(4), 3) == 3).all()",
    "loader-workers.jax": "assert batch == pending.result() == 7",
    "async-save.jax": "assert (numpy.load(path)['arr_0'] == 1).all()",
    "device-feed.jax": "assert (following == 1).all()",
    "fixed-shapes.jax": "assert batch.shape == (64, 4) and batch.sum() == 240",
    "own-stream.pytorch": "assert stream != torch.cuda.default_stream()",
    "pinned-reused.pytorch": "assert host.is_pinned() and host.sum() == 1 << 20",
    "pinned-reused.cupy": "assert host.sum() == 1 << 20",
    "device-scalar.pytorch": "assert total.is_cuda",
    "device-scalar.cupy": "assert isinstance(total, cupy.ndarray) and total == 1",
    "pool-allocator.pytorch": "assert (buffer == 64).all()",
    "pool-allocator.cupy": "assert (buffer == 64).all()",
    "graph.pytorch": "torch.cuda.synchronize(); assert (output == 64).all()",
    "graph.cupy": "stream.synchronize(); assert (out == 2).all()",
    "issue-order.pytorch": "torch.cuda.synchronize(); assert (large == 1).all()",
}
CUDA = """
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <vector>
#include <cublas_v2.h>
#include <cuda_runtime.h>
__global__ void kernel(int) {}
__global__ void empty() {}
void submit(cudaStream_t stream) { empty<<<1, 1, 0, stream>>>(); }
std::vector<char> read_file(std::string path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
int main() {
    std::string path = "form.cu";
    int n = 256, arguments = 0, device = 0, grid = 1, block = 32;
    size_t bytes = 1024, few = 16, many = 1024;
    float *x, *norm;
    void *host, *gpu, *to, *from, *memory, *small, *large, *a, *b, *next, *staged;
    for (void** one : {&gpu, &to, &from, &small, &large, &a, &b, &next}) cudaMalloc(one, bytes);
    cudaMallocHost(&staged, bytes);
    cudaEvent_t fed; cudaEventCreate(&fed);
    cudaStream_t feeding; cudaStreamCreate(&feeding);
    cudaMalloc(&x, bytes); cudaMalloc(&norm, bytes);
    cublasHandle_t handle; cublasCreate(&handle);
    cudaMemPool_t pool; cudaGraph_t graph; cudaGraphExec_t executable;
    cudaStream_t first, second; cudaStreamCreate(&first); cudaStreamCreate(&second);
    std::vector<cudaStream_t> streams = {first, second};
    STREAM
    {
        FORM
    }
    cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) error = cudaGetLastError();
    if (error != cudaSuccess) printf("%s\\n", cudaGetErrorString(error));
    return error;
}
"""


def python(path: pathlib.Path, framework: str) -> str | None:
    """Why a form of a framework failed; nothing if it ran."""
    name = path.name.removesuffix(".py")
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / "program.py"
        program.write_text("\n".join([BEFORE[framework], OWN.get(name, ""), path.read_text(), AFTER.get(name, ""), ""]))
        result = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=directory)
    return result.stderr if result.returncode else None


def cuda(path: pathlib.Path) -> str | None:
    """Why a form in CUDA C++ failed; nothing if it ran."""
    own = "" if "cudaStream_t stream;" in path.read_text() else "cudaStream_t stream = first;"
    with tempfile.TemporaryDirectory() as directory:
        source, program = pathlib.Path(directory) / "form.cu", pathlib.Path(directory) / "form"
        source.write_text(CUDA.replace("STREAM", own).replace("FORM", path.read_text()))
        made = subprocess.run(["nvcc", "-o", program, source, "-lcublas"], capture_output=True, text=True)
        if made.returncode:
            return made.stderr
        result = subprocess.run([program], capture_output=True, text=True)
    return result.stdout or f"status {result.returncode}" if result.returncode else None


def main() -> None:
    """Runs all, and fails if one fails."""
    modules = {"pytorch": "torch", "cupy": "cupy", "jax": "jax"}
    ran, failed = 0, []
    for path in sorted(FORMS.iterdir()):
        framework = path.name.split(".")[1]
        if framework in modules and importlib.util.find_spec(modules[framework]) is None:
            print(f"{path.name}: no {framework}, skipped")
            continue
        if path.suffix == ".cu" and shutil.which("nvcc") is None:
            print(f"{path.name}: no nvcc, skipped")
            continue
        if framework not in modules and path.suffix != ".cu":
            continue
        problem = cuda(path) if path.suffix == ".cu" else python(path, framework)
        ran += 1
        print(f"{path.name}: {'failed' if problem else 'ran'}")
        failed += [f"{path.name}: {problem}"] if problem else []
    print(f"{ran} forms ran, {len(failed)} failed")
    sys.exit("\n".join(failed) if failed or not ran else 0)


if __name__ == "__main__":
    main()
