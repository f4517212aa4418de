import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=6854, device="a100", stack=True, pid=1201, python="python3.10", cuda=12010)
main = trace.thread("python3.10")
GRAPH = [("triton_norm", 240), ("gemm", 2900), ("paged", 2100), ("gemm_nn", 3300), ("gemv", 1900)]


def execute_model():
    with main.frame("vllm/worker/worker_base.py(226): execute_model"):
        with main.frame("vllm/worker/model_runner.py(1231): prepare_model_input"):
            main.spend(820)
            for size in (2048, 4096):
                main.spend(160).to_device(size, pinned=True, blocking=False)
        with main.frame("vllm/worker/model_runner.py(1255): execute_model"):
            main.spend(90).graph(GRAPH, host=310)
            with main.module("Sampler"):
                main.run("aten::softmax/aten::_softmax", "softmax", 70, gap=120)
                main.run("aten::argmax", "argmax", 25, gap=60)
                main.to_host(2048)


with main.frames("benchmark_throughput.py(1): <module>", "vllm/entrypoints/llm.py(546): _run_engine"):
    for step in range(60):
        with main.frame("vllm/engine/llm_engine.py(870): step"):
            with main.frame("vllm/core/scheduler.py(1000): schedule"):
                main.spend(930)
            execute_model()
            with main.frame("vllm/engine/llm_engine.py(756): _process_model_outputs"):
                main.spend(760)
                with main.frame("vllm/transformers_utils/detokenizer.py(101): decode_sequence_inplace"):
                    main.spend(1350)
                main.spend(520)
trace.write(__file__)
