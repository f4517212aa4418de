import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=188150, device="h100", shapes=True, pid=5521, python="python3.12", cuda=13000)
main, engine = trace.thread("python3"), trace.thread("pt_autograd_0")
recorded = set()
KERNELS = [("triton_norm", 0.05), ("gemm90", 0.42), ("flash", 0.2), ("gemm90_nn", 0.28), ("triton_add", 0.05)]


def run(thread, direction, length, us):
    dims = [[4, length], [152064, 1024]]
    name = "CompiledFunction" if direction == "forward" else "CompiledFunctionBackward"
    with thread.op(name, dims=dims, types=["long int", "c10::BFloat16"]):
        thread.spend(180)
        if (direction, length) not in recorded:
            recorded.add((direction, length))
            with thread.range("CUDAGraphNode.record (dynamo_timed)"):
                thread.spend(2200).synchronize_device()
                thread.spend(900).call("cudaStreamBeginCapture", 30)
                for kernel, _ in KERNELS:
                    thread.spend(5200).call("cuLaunchKernel" if kernel.startswith("triton") else "cudaLaunchKernel", 5)
                thread.call("cudaStreamEndCapture", 60)
                thread.call("cudaGraphInstantiateWithFlags", trace.random.uniform(14000, 26000))
                thread.spend(8000)
        thread.graph([(kernel, share * us) for kernel, share in KERNELS], host=340)


for step in range(44):
    length = 8 * trace.random.randrange(28, 128)
    main.spend(700).to_device(4 * length * 8, dims=[[4, length]])
    run(main, "forward", length, 18.0 * length)
    main.run("aten::log_sigmoid_forward", "add", 4, gap=40, dims=[[4]])
    engine.until(main.now + trace.between(30, 60))
    run(engine, "backward", length, 37.0 * length)
    main.until(engine.now, 20, 40)
    with main.range("Optimizer.step#AdamW.step"):
        main.spend(320).run("aten::_fused_adamw_", "fused_adam", 2100)
trace.write(__file__)
