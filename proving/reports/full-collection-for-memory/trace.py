"""A Julia program's array library runs a full garbage collection whenever its pool of device memory has no fitting block."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MS, US, Gpu, Trace  # noqa: E402

trace = Trace(22, ("cuda", "sample"), "julia --project resnet.jl")
process = trace.process("julia", 18002, Gpu("rtx2080"))
thread = process.thread("julia", at=30400 * MS)
thread.stack = [("julia_train!_17820", "[jit]"), ("jl_apply_generic", "libjulia.so.1"), ("main", "julia")]
COLLECT = [("_jl_gc_collect", "libjulia.so.1"), ("jl_gc_collect", "libjulia.so.1"), ("julia_gc_2210", "sys.so"),
           ("julia_alloc_16113", "[jit]"), ("julia_CuArray_16090", "[jit]")]
KERNELS = (("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(WinogradDataParams<float, float>)", 820),
           ("volta_sgemm_128x64_nn", 1120), ("ptxcall_broadcast_kernel_12", 310),
           ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(cudnnTensorStruct)", 540))
for part in range(13):
    for repetition in range(2):
        for name, duration in KERNELS:
            thread.host(85 * US, ("julia_conv_18211", "[jit]"), ("julia_Chain_18190", "[jit]"))
            thread.launch(process.null, name, duration * US, 512, 256, 64, cost=7 * US)
    thread.host(71 * MS, ("gc_mark_loop", "libjulia.so.1"), *COLLECT)
    thread.host(22 * MS, ("gc_sweep_pool", "libjulia.so.1"), *COLLECT)
    thread.host(6 * MS, ("julia_finalizer_4410", "[jit]"), ("run_finalizer", "libjulia.so.1"), *COLLECT[1:])
    for block in range(2):
        thread.call("cuMemFree_v2", 130 * US)
    thread.call("cuMemAlloc_v2", 210 * US)
trace.sample(thread, 4 * MS)
trace.save(HERE / "trace.sqlite")
