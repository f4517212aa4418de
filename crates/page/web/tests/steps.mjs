// Made-up traces of PyTorch's profiler with steps, of which some are slow.
import { writeFileSync } from "node:fs";

/**
 * Writes a trace of `count` steps of 10 ms, each with a kernel of 4 ms. Those whose number `isSlow` begin 30 ms later, while
 * the program computes in `loader.py`. `name` names a step.
 */
export function writeSteps(file, { count = 40, isSlow = (step) => step === 12, name = (step) => `ProfilerStep#${step}` } = {}) {
  const events = [{ ph: "M", name: "thread_name", pid: 1, tid: 1, ts: 0, args: { name: "trainer" } }];
  let now = 1_000;
  const add = (cat, name, ts, dur, args = {}, tid = 1) => events.push({ ph: "X", cat, name, pid: 1, tid, ts, dur, args });
  for (let step = 0; step < count; step++) {
    const late = isSlow(step) ? 30_000 : 0;
    const takes = 10_000 + late + ((step + 1) % 3) * 20;
    add("user_annotation", name(step), now, takes - 5);
    add("python_function", "loader.py(31): next_batch", now + 10, 3_000 + late);
    add("cuda_runtime", "cudaLaunchKernel", now + 3_100 + late, 20, { correlation: step + 1 });
    add("kernel", "gemm", now + 3_130 + late, 4_000, { correlation: step + 1, stream: 7, device: 0, grid: [8, 1, 1], block: [128, 1, 1] }, 7);
    add("cuda_runtime", "cudaDeviceSynchronize", now + 3_200 + late, 3_960);
    now += takes;
  }
  writeFileSync(file, JSON.stringify({ schemaVersion: 1, traceEvents: events }));
  return file;
}
