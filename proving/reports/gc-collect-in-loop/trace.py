import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=46, device="a100", stack=True, pid=22750, python="python3.11", cuda=12080)
main = trace.thread("python3.11")


def predict(batch):
    with main.frame("lightning/pytorch/loops/prediction_loop.py(220): _predict_step"):
        main.spend(900)
        for size in (1 << 22, 1 << 20):
            main.to_device(size, pinned=True, blocking=False)
        with main.module("ISTEncoder"):
            for layer in range(3):
                main.run("aten::index_select", "gather", 3100, gap=120)
                main.run("aten::scatter_add_", "scatter", 4200, gap=90)
                main.run("aten::linear/aten::addmm", "gemm32", 2300, gap=90)
        with main.frame("segger/models/lightning_model.py(318): predict_step"):
            main.spend(80).run("aten::max", "argmax", 340)


def assign(gene):
    main.spend(160)
    with main.frame("skimage/filters/thresholding.py(483): threshold_yen"):
        main.spend(trace.random.uniform(500, 1600))
    with main.frame("segger/data/utils/threshold.py(6): threshold_li_custom"):
        main.spend(trace.random.uniform(300, 2200))
    with main.frame("<built-in function collect>"):
        main.spend(152000, 0.06)


with main.frames("segger(1): <module>", "segger/cli/segment.py(212): segment", "lightning/pytorch/trainer/trainer.py(858): predict"):
    with main.frame("lightning/pytorch/loops/prediction_loop.py(99): run"):
        for batch in range(44):
            predict(batch)
        main.spend(400).synchronize()
    with main.frames("lightning/pytorch/callbacks/prediction_writer.py(159): on_predict_epoch_end",
                     "segger/data/writer.py(73): write_on_epoch_end", "segger/data/writer.py(162): assign_transcripts_to_cells"):
        with main.op("aten::hstack"), main.op("aten::cat"):
            main.launch("add", 180)
        main.spend(300).to_host(9 << 20)
        main.spend(21000)
        for gene in range(100):
            assign(gene)
trace.write(__file__)
