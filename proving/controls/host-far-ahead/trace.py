import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=1, device="h100", pid=4410, python="python3.12", cuda=12080)
main = trace.thread("python3.12")

for batch in range(88):
    main.spend(120).to_device(1 << 20, pinned=True, blocking=False)
    for layer in range(3):
        main.run("aten::linear/aten::addmm", "gemm90", 1900, gap=30)
        main.run("aten::gelu", "gelu", 260, gap=25)
main.spend(80).synchronize()
trace.write(__file__)
