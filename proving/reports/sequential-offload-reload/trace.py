import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=2266, device="3060", stack=True, pid=6006, python="python3.10", cuda=11070)
main = trace.thread("python3.10")
BLOCKS = [("CrossAttnDownBlock2D", 0, 324), ("UNetMidBlock2DCrossAttn", 0, 186), ("CrossAttnUpBlock2D", 0, 495),
          ("CrossAttnUpBlock2D", 1, 392)]


def load(megabytes):
    with main.frames("accelerate/hooks.py(280): pre_forward", "accelerate/utils/modeling.py(97): set_module_tensor_to_device"):
        main.spend(900)
        main.to_device(megabytes << 20, rate=4.6)


def start_up():
    """Loads the text encoder and the libraries; it happens once."""
    with main.frame("diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py(283): _encode_prompt"):
        main.spend(620000)
        load(235)
        main.call("cudaMalloc", 1300)
        with main.op("aten::linear"), main.op("aten::addmm"):
            main.call("cudaFuncGetAttributes", 260000)
            main.launch("gemm16", 4200, host=540000)
        for name in ("aten::layer_norm", "aten::softmax", "aten::gelu"):
            with main.op(name):
                main.launch("layer_norm", 300, host=38000)
        main.synchronize()


with main.frames("generate.py(1): <module>", "diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py(452): __call__"):
    start_up()
    for step in range(34):
        with main.module("UNet2DConditionModel"):
            for name, key, megabytes in BLOCKS:
                with main.frame("accelerate/hooks.py(151): new_forward"):
                    load(megabytes)
                    with main.module(name, key):
                        main.run("aten::linear/aten::addmm", "gemm16", 26000 * megabytes / 280, gap=600)
        with main.frame("diffusers/schedulers/scheduling_pndm.py(184): step"):
            main.spend(400).run("aten::add", "add", 9)
trace.write(__file__)
