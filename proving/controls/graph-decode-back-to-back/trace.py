import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=4, device="h100", stack=True, pid=1733, python="python3.12", cuda=12080)
main = trace.thread("python3.12")
compute, back = trace.main_stream, trace.stream(20)
GRAPH = [("triton_norm", 120), ("gemm90", 1350), ("flash", 880), ("gemm90_nn", 1420), ("triton_add", 110), ("argmax", 30)]

with main.frames("serve.py(1): <module>", "serve.py(140): decode_loop"):
    before = None
    for token in range(140):
        with main.frame("serve.py(96): launch_step"):
            main.spend(130).graph(GRAPH, host=120)
            main.wait(back, main.record(compute))
            main.copy("device to pinned", 256, back)
            copied = main.record(back)
        if before:
            main.synchronize_event(before)
            with main.frame("serve.py(118): emit_tokens"):
                main.spend(420)
        before = copied
    main.synchronize_event(before)
trace.write(__file__)
