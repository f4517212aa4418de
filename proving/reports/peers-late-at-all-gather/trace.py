import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=696, device="h100", devices=8, pid=28430, python="python3.11", cuda=12040,
                     distributed={"backend": "nccl", "rank": 3, "world_size": 512, "nccl_version": "2.21.5"})
main, engine = trace.thread("python3"), trace.thread("pt_autograd_0")
compute, gather = trace.main_stream, trace.stream(20)
LAYERS = 4


def all_gather(late):
    external = {"Collective name": "_allgather_base", "In msg nelems": 425984, "Out msg nelems": 218103808, "Group size": 512,
                "dtype": "BFloat16"}
    with main.range("FSDP::all_gather"), main.op("record_param_comms"):
        main.spend(9).launch("all_gather", 760 + late, gather, call="cudaLaunchKernelExC", more=external)
    return main.record(gather)


for step in range(34):
    late = {layer: trace.random.uniform(9000, 26000) for layer in range(LAYERS) if trace.random.random() < 0.2}
    main.spend(160).to_device(65536, pinned=True, blocking=False)
    # Before a forward pass, FSDP's stream for all-gathers waits for the computation of the step before.
    main.wait(gather, main.record(compute))
    parameters = all_gather(late.get(0, 0))
    for layer in range(LAYERS):
        main.wait(compute, parameters)
        if layer + 1 < LAYERS:
            parameters = all_gather(late.get(layer + 1, 0))
        main.spend(70).run("aten::linear/aten::mm", "gemm90", 2900, gap=30)
    engine.until(main.now + trace.between(30, 50))
    for layer in range(LAYERS):
        engine.spend(90).back("MmBackward0", "aten::mm", "gemm90_nn", 5600)
    main.until(engine.now, 20, 40)
    main.spend(150).run("aten::_fused_adamw_", "fused_adam", 900)
main.synchronize()
trace.write(__file__)
