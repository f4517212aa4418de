import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=50, device="a100", stack=True, pid=8085, python="python3.11", cuda=12040)
main, engine = trace.thread("python3.11"), trace.thread("pt_autograd_0")

with main.frames("train.py(1): <module>", "train.py(88): main"):
    for step in range(150):
        with main.frame("train.py(52): train_step"):
            main.spend(110).run("aten::linear/aten::addmm", "gemm", 3100, gap=60)
            main.run("aten::cross_entropy_loss", "softmax", 240, gap=80)
            engine.until(main.now + trace.between(30, 50))
            engine.back("AddmmBackward0", "aten::mm", "gemm_nt", 6300)
            main.until(engine.now, 20, 40)
            main.spend(140).run("aten::_fused_adamw_", "fused_adam", 410)
        if step % 50 == 49:
            with main.frame("train.py(41): log_loss"):
                main.item()
                main.spend(600)
trace.write(__file__)
