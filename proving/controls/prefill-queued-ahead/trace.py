"""Heavy kernels one after another; the host queues them far ahead and waits once at the end of each batch."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MS, US, Gpu, OUT, Trace  # noqa: E402

trace = Trace(41, ("cuda", "nvtx"), "./prefill --batch 32")
process = trace.process("prefill", 31010, Gpu("h100", alone=True))
stream = process.stream(2)
thread = process.thread("prefill", at=2600 * MS)
previous = None
for batch in range(6):
    with thread.range("batch"):
        for layer in range(16):
            thread.launch(stream, "void cutlass::Kernel2<cutlass_90_tensorop_bf16_s64x128x16gemm_bf16_128x256_64x4_tn_align8>(Params)",
                          1450 * US, 1024, 384, 168)
            thread.launch(stream, "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)", 930 * US, 2048)
            thread.launch(stream, "void rms_norm_residual<__nv_bfloat16>(const __nv_bfloat16 *, __nv_bfloat16 *, int)", 110 * US, 4096)
        thread.copy(stream, 128 * KB, OUT)
        done = thread.record(stream)
    if previous:                                            # the host is one batch ahead
        thread.wait(event=previous)
    previous = done
thread.wait(event=previous)
trace.save(HERE / "trace.sqlite")
