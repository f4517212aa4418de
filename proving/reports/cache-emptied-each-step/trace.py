import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=31372, device="a100", devices=8, stack=True, pid=9114, python="python3.10")
main, engine = trace.thread("python3.10"), trace.thread("pt_autograd_0")
BLOCKS = 6


def grow(thread):
    """A block that the pool no longer has."""
    with thread.op("aten::empty"):
        thread.call("cudaMalloc", trace.random.choice([190, 260, 380, 520]))


def forward():
    with main.module("Phi3ForCausalLM"):
        for layer in range(3):
            with main.module("Phi3DecoderLayer", layer):
                grow(main)
                main.spend(160).run("aten::linear/aten::mm", "gemm", 1150)
                main.spend(140).run("aten::scaled_dot_product_attention", "flash", 610)


def backward():
    with main.frames("accelerate/accelerator.py(2093): backward", "torch/_tensor.py(466): backward",
                     "<built-in method run_backward of torch._C._EngineBase object at 0x7fb0d0c63cf0>"):
        engine.until(main.now + trace.between(30, 60))
        for layer in range(3):
            grow(engine)
            engine.spend(60).back("MmBackward0", "aten::mm", "gemm_nt", 2250)
        main.until(engine.now, 20, 40)


def empty_cache():
    with main.frames("torch/cuda/memory.py(152): empty_cache", "<built-in function _cuda_emptyCache>"):
        for block in range(BLOCKS):
            main.call("cudaFree", trace.random.choice([240, 330, 460, 700]), end=trace.main_stream.free + trace.between(60, 140))


with main.frames("run_clm.py(1): <module>", "run_clm.py(239): main", "transformers/trainer.py(1836): train",
                 "transformers/trainer.py(1894): _inner_training_loop"):
    for step in range(30):
        with main.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            main.spend(420)
        with main.frame("transformers/trainer.py(3182): training_step"):
            main.to_device(32768)
            with main.frame("transformers/trainer.py(3221): compute_loss"):
                forward()
            empty_cache()
            backward()
        with main.range("Optimizer.step#AdamW.step"):
            main.spend(180).run("aten::_fused_adamw_", "fused_adam", 240)
trace.write(__file__)
