import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=119, device="h100", devices=8, pid=3301, python="python3.12", cuda=12080,
                     distributed={"backend": "nccl", "rank": 0, "world_size": 8})
main, engine = trace.thread("python3"), trace.thread("pt_autograd_0")
compute, memcpy, exchange = trace.main_stream, trace.stream(20), trace.stream(28)


def copy_batch():
    with main.range("## copy_batch_to_gpu ##"):
        main.spend(240)
        for size in (9 << 20, 24 << 20):
            size += trace.random.randrange(1 << 20)
            with main.op("aten::pin_memory"), main.op("aten::_pin_memory"):
                main.call("cudaHostAlloc", size / (1 << 20) * trace.random.uniform(260, 380))
                main.spend(size / 24000)
            with main.op("aten::copy_"):
                main.copy("pinned to device", size, memcpy, rate=41)
        return main.record(memcpy)


ready = copy_batch()
for step in range(42):
    with main.range("## wait_for_batch ##"):
        main.wait(compute, ready)
    with main.range("## input_dist ##"):
        main.spend(180)
        main.launch("all_to_all", 420, exchange, call="cudaLaunchKernelExC")
        main.wait(compute, main.record(exchange))
    with main.range("## forward ##"):
        for operator, kernel in (("fbgemm::split_embedding_codegen_lookup_rowwise_adagrad", "gather"), ("hstu::hstu_attn_varlen", "flash")):
            main.run(operator, kernel, 1300, gap=160)
            main.run("aten::linear/aten::addmm", "gemm90", 780, gap=120)
    engine.until(main.now + trace.between(30, 50))
    for layer in range(2):
        engine.spend(180).back("AddmmBackward0", "aten::mm", "gemm90_nn", 1900)
    main.until(engine.now, 20, 40)
    main.run("aten::_fused_adamw_", "fused_adam", 310, gap=280)
    ready = copy_batch()
trace.write(__file__)
