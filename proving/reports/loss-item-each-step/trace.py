import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=522, device="a100", stack=True, pid=51220)
main, engine = trace.thread("python3"), trace.thread("pt_autograd_0")


def forward():
    with main.module("TransformerDecoder"):
        main.run("aten::embedding/aten::index_select", "embedding", 35, gap=60)
        for layer in range(3):
            with main.module("TransformerDecoderLayer", layer):
                main.spend(640).run("aten::linear/aten::mm", "gemm", 780)
                main.spend(720).run("aten::scaled_dot_product_attention", "flash", 420)
    main.spend(190).run("aten::cross_entropy_loss/aten::_log_softmax", "softmax", 310)


def backward():
    with main.frames("torch/_tensor.py(428): backward", "torch/autograd/__init__.py(179): backward",
                     "<built-in method run_backward of torch._C._EngineBase object at 0x7f31a8e5c4b0>"):
        engine.until(main.now + trace.between(30, 60))
        for layer in range(3):
            engine.spend(620).back("MmBackward0", "aten::mm", "gemm_nt", 2050)
        main.until(engine.now, 20, 40)


with main.frames("lora_finetune_single_device.py(1): <module>", "torchtune/config/_parse.py(77): wrapper",
                 "lora_finetune_single_device.py(538): recipe_main", "lora_finetune_single_device.py(413): train"):
    for step in range(30):
        with main.range(f"ProfilerStep#{step + 20}"):
            with main.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                with main.frame("torchtune/utils/collate.py(17): padded_collate"):
                    main.spend(1150, 0.2)
            main.to_device(16384)
            forward()
            backward()
            with main.frame("torch/optim/optimizer.py(361): wrapper"), main.range("Optimizer.step#AdamW.step"):
                main.spend(260).run("aten::_fused_adamw_", "fused_adam", 110)
            with main.range("Optimizer.zero_grad#AdamW.zero_grad"):
                main.spend(90)
            with main.frame("<built-in method item of Tensor object at 0x7f316c2d5e50>"):
                main.item()
            with main.frame("tqdm/std.py(1382): set_description"):
                main.spend(620)
trace.write(__file__)
