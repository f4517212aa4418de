import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=2334, device="h100", devices=8, pid=9907, python="python3.12", cuda=12080)
main, sender = trace.thread("python3.12"), trace.thread("ctran_gpe")
flags = trace.stream(24)


def first_grouped_mm():
    """Another instance of the kernel, whose module is not loaded yet."""
    main.spend(70)
    with main.op("aten::_grouped_mm"):
        main.spend(18)
        begin = main.now
        main.launch("grouped", 940, load=trace.random.uniform(3600, 6200))
        held.append((begin, main.now))
        trace.overhead.append(("Runtime Triggered Module Loading", begin + 1800, main.now - 900))


def send(until):
    """The other thread writes flags to the device, and has to be on time."""
    while sender.now < until:
        begin, end = next((span for span in held if span[0] <= sender.now < span[1]), (0, 0))
        record = sender.call("cudaMemcpyAsync", 6.2, end=end + trace.between(3, 9) if end else None)
        args = {"device": 0, "context": 1, "stream": flags.number, "correlation": record["correlation"], "bytes": 8,
                "memory bandwidth (GB/s)": 0.0055}
        sender.enqueue(record, flags, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1.4, args)
        sender.spend(1900, 0.25)


for step in range(80):
    held = []
    main.spend(260)
    for layer in range(2):
        main.run("aten::linear/aten::mm", "gemm90", 1250, gap=70)
        if step % 5 not in (1, 3) and layer:
            first_grouped_mm()
        else:
            main.run("aten::_grouped_mm", "grouped", 940, gap=70)
        main.run("aten::linear/aten::mm", "gemm90_nn", 1450, gap=70)
    main.run("aten::_fused_adamw_", "fused_adam", 320, gap=260)
    send(main.now)
trace.write(__file__)
