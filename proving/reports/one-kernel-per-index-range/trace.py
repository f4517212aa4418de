"""A distributed vector adds what it received with one kernel for each range of indices; the kernels are shorter than their launches."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MS, US, Gpu, IN, OUT, PAGEABLE, Trace  # noqa: E402

trace = Trace(29, ("cuda",), "./dft_chebyshev")
process = trace.process("dft_chebyshev", 24310, Gpu("p100"))
thread = process.thread("dft_chebyshev", at=141 * MS)
for iteration in range(3):
    thread.launch(process.null, "void dealii::LinearAlgebra::CUDAWrappers::kernel::vec_scale<double>(double *, double, int)", 96 * US, 5056,
                  512, 10)
    thread.copy(process.null, 180 * KB, IN, PAGEABLE, "cudaMemcpy")
    for index_range in range(74):
        thread.host(1100)
        thread.launch(process.null, "void dealii::LinearAlgebra::CUDAWrappers::kernel::vector_bin_op<double, "
                      "dealii::LinearAlgebra::CUDAWrappers::kernel::Binop_Addition>(double *, double *, int)", 2300, 1, 512, 14,
                      cost=7 * US)
    thread.copy(process.null, 64 * KB, OUT, PAGEABLE, "cudaMemcpy")
trace.nvprof_text(HERE / "trace.txt", process, "./dft_chebyshev")
