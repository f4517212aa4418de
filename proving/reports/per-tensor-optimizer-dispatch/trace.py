import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=63, device="h100", devices=8, stack=True, pid=8121, python="python3.12", cuda=12080)
main, engine = trace.thread("python3"), trace.thread("pt_autograd_0")
TENSORS = 5

with main.frames("train.py(1): <module>", "train.py(604): main"):
    for step in range(30):
        main.spend(150).to_device(65536, pinned=True, blocking=False)
        with main.module("GPT"):
            for layer in range(2):
                main.run("aten::linear/aten::mm", "gemm90", 890, gap=90)
        with main.frame("torch/_tensor.py(570): backward"):
            engine.until(main.now + trace.between(30, 50))
            for layer in range(2):
                engine.spend(60).back("MmBackward0", "aten::mm", "gemm90_nn", 1750)
            main.until(engine.now, 20, 40)
        with main.frame("torch/optim/optimizer.py(462): wrapper"), main.range("Optimizer.step#NorMuon.step"):
            with main.frame("dion/normuon.py(211): step"):
                main.run("aten::bmm", "gemm90", 240, gap=120)
                with main.frame("dion/scalar_opts.py(96): adamw_update_foreach"):
                    for operator, kernel in (("lerp_", "lerp"), ("addcmul_", "addcmul"), ("addcdiv_", "addcdiv")):
                        with main.op(f"aten::_foreach_{operator}"):
                            for tensor in range(TENSORS):
                                main.run(f"aten::{operator}", kernel, 3.4, gap=trace.random.uniform(330, 520), inner=14)
trace.write(__file__)
