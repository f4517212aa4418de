import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=421, device="h100", devices=8, pid=12877, python="python3.12", cuda=12090,
                     distributed={"backend": "nccl", "rank": 0, "world_size": 8, "nccl_version": "2.27.3"})
main, engine = trace.thread("python3"), trace.thread("pt_autograd_0")
compute, gather, reduce = trace.main_stream, trace.stream(20), trace.stream(24)
LAYERS = 3


def collective(thread, name, kernel, us, stream):
    external = {"Collective name": name, "In msg nelems": 109051904, "Out msg nelems": 872415232, "Group size": 8, "dtype": "BFloat16"}
    with thread.op("record_param_comms"):
        thread.spend(9)
        return thread.launch(kernel, us, stream, call="cudaLaunchKernelExC", more=external)


def all_gather(thread):
    with thread.range("FSDP::all_gather"):
        collective(thread, "_allgather_base", "all_gather", 2100, gather)
    return thread.record(gather)


for step in range(30):
    main.to_device(65536, pinned=True, blocking=False)
    parameters = all_gather(main)
    for layer in range(LAYERS):
        main.wait(compute, parameters)
        if layer + 1 < LAYERS:
            parameters = all_gather(main)
        main.spend(90).run("aten::linear/aten::addmm", "gemm90", 4100, gap=30)
    engine.until(main.now + trace.between(30, 50))
    for layer in range(LAYERS):
        engine.spend(110).back("AddmmBackward0", "aten::mm", "gemm90_nn", 8300)
        with engine.range("FSDP::post_backward_reduce"):
            engine.spend(60)
            engine.wait(reduce, engine.record(compute))
            item = collective(engine, "_reduce_scatter_base", "reduce_scatter", 5200, reduce)
        # One queue: what was issued later does not start while this kernel waits and runs.
        compute.after = max(compute.after, item["end"] + trace.between(2, 6))
    engine.wait(compute, engine.record(reduce))
    main.until(engine.now, 20, 40)
    with main.range("Optimizer.step#AdamW.step"):
        main.spend(210).run("aten::_fused_adamw_", "fused_adam", 2200)
trace.write(__file__)
