import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=192021, device="h200", pid=73110, python="python3.12", cuda=12080)
main = trace.thread("python3.12")

for window in range(200):
    main.spend(240)
    with main.range(f"window_{window}"):
        with main.op("aten::zero_"):
            main.memset(256 << 20)
        main.run("aten::rms_norm", "triton_norm", 62, gap=25)
        main.run("aten::linear/aten::matmul/aten::mm", "gemm90", 410, gap=30)
        main.run("aten::silu", "silu", 48, gap=30)
main.spend(60).synchronize_device()
trace.drop()
trace.write(__file__)
