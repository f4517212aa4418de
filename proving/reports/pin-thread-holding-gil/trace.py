import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=77139, device="a100", devices=8, stack=True, pid=2207, python="python3.8", cuda=11060)
main, engine, pin = trace.thread("python3.8"), trace.thread("pt_autograd_0"), trace.thread("python3.8")
held = (0, 0)  # when the pinning thread has the lock


def python(us):
    """Python code of the main thread: it goes on only with the lock."""
    main.spend(us)
    if held[0] <= main.now < held[1]:
        main.until(held[1], 20, 60)


def step():
    main.to_device(12 << 20, pinned=True, blocking=False)
    with main.module("MultiCropWrapper"):
        for block in range(4):
            with main.module("Block", block):
                python(900)
                main.run("aten::linear/aten::addmm", "gemm", 1150)
                python(950)
                main.run("aten::softmax", "softmax", 1250)
    with main.frame("main_dino.py(355): forward"):
        python(850)
        main.run("aten::log_softmax", "softmax", 190)
    with main.frames("torch/_tensor.py(321): backward", "torch/autograd/__init__.py(85): backward"):
        engine.until(main.now + trace.between(30, 60))
        for block in range(4):
            engine.spend(1300).back("AddmmBackward0", "aten::mm", "gemm_nt", 2250)
        main.until(engine.now, 20, 40)
    with main.frame("utils.py(132): clip_gradients"):
        for group in range(2):
            python(900)
            main.run("aten::norm", "norm", 12)
    with main.range("Optimizer.step#AdamW.step"):
        python(900)
        main.run("aten::_foreach_add_", "foreach", 160)


with main.frames("main_dino.py(1): <module>", "main_dino.py(132): train_dino", "main_dino.py(299): train_one_epoch"), \
        pin.frames("threading.py(890): _bootstrap", "threading.py(932): _bootstrap_inner", "threading.py(870): run",
                   "torch/utils/data/_utils/pin_memory.py(16): _pin_memory_loop"):
    for number in range(30):
        with main.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
            main.spend(60)
        begin = main.now + trace.between(2500, 6500)
        with pin.frame("multiprocessing/queues.py(97): get"):
            pin.until(begin - trace.between(1700, 2100))
        with pin.frame("torch/utils/data/_utils/pin_memory.py(50): pin_memory"):
            pin.call("cudaEventQuery", 1.6)
            pin.until(begin)
        held = (begin, begin + trace.between(8000, 12000))
        pin.until(held[1])
        with pin.frame("queue.py(122): put"):
            pin.spend(25)
        step()
trace.write(__file__)
