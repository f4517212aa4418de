import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import kineto  # noqa: E402

trace = kineto.Trace(seed=28491, device="h200", devices=4, stack=True, pid=660, python="python3", cuda=12090)
main = trace.thread("python3")
schedule, forward = trace.stream(13), trace.stream(17)
GRAPH = [("triton_norm", 90), ("gemm90", 640), ("paged", 430), ("gemm90_nn", 580), ("grouped", 940)]
done, copied = None, None

with main.frames("sglang/srt/managers/scheduler.py(3420): run_scheduler_process",
                 "sglang/srt/managers/scheduler.py(1270): event_loop_overlap"):
    for step in range(70):
        with main.frame("sglang/srt/managers/scheduler.py(2240): get_next_batch_to_run"):
            main.spend(120)
            with main.frame("sglang/srt/managers/schedule_batch.py(2021): prepare_for_decode"):
                main.spend(80)
                if done:
                    main.wait(schedule, done)
                main.to_device(8, stream=schedule)
                main.spend(330)
                main.run("aten::add_", "add", 3, stream=schedule)
            main.spend(240)
        with main.frame("sglang/srt/managers/scheduler.py(2390): run_batch"):
            main.spend(90)
            main.wait(forward, main.record(schedule))
            with main.frame("sglang/srt/model_executor/cuda_graph_runner.py(801): replay"):
                main.spend(210)
                main.graph(GRAPH, forward, host=150)
            main.run("aten::argmax", "argmax", 9, stream=forward)
            before, done = copied, main.record(forward)
            main.copy("device to pinned", 4, forward)
            copied = main.record(forward)
        if before:
            with main.frame("sglang/srt/managers/scheduler_output_processor_mixin.py(302): process_batch_result_decode"):
                main.synchronize_event(before)
                main.spend(420)
trace.write(__file__)
