// A trace in which every name is hostile; a page must survive it.
import { writeFileSync } from "node:fs";

const NAMES = [
  `</script><script>window.ran = 1</script>`,
  `<img src=x onerror="window.ran = 2">`,
  `"><svg onload=window.ran=3>`,
  `'; window.ran = 4; //`,
  `<!--<script>window.ran = 5</script>`,
  `]]></style><style>body{display:none}</style>`,
  `\u0000\u0007\u001b[31mred\u009b1m`,
  `\u202egnirts\u2066 \u2028 \u2029 \ufeff`,
  `javascript:window.ran=6`,
  `{{constructor.constructor('window.ran=7')()}}`,
  `__proto__`, `constructor`, `<!--holdup:body-->`, `%script%`, `$&$1$\``,
  "x".repeat(1 << 20),
  `${"<b>".repeat(1 << 18)}`,
  "é".repeat(300_000),
];

/** Writes the trace, and again with bytes in the names that are not UTF-8. */
export function writeHostile(file) {
  const events = [];
  const event = (fields) => events.push(JSON.stringify({ ph: "X", pid: 1, ...fields }));
  NAMES.forEach((name, thread) => {
    events.push(JSON.stringify({ ph: "M", name: "thread_name", pid: 1, tid: thread, ts: 0, args: { name } }));
  });
  events.push(JSON.stringify({ ph: "M", name: "process_name", pid: 1, tid: 0, ts: 0, args: { name: NAMES[0] } }));
  let correlation = 0;
  for (let round = 0; round < 6; round++) {
    NAMES.forEach((name, at) => {
      // A megabyte takes seconds to read.
      if (round > 0 && name.length > 1 << 16) return;
      const ts = 1_000 + round * 40_000 + at * 2_000;
      correlation++;
      event({ cat: "cpu_op", name, tid: at, ts, dur: 1_900, args: { "Call stack": `${name}(12): ${name}` } });
      event({ cat: "cuda_runtime", name: at % 2 ? name : "cudaLaunchKernel", tid: at, ts: ts + 10, dur: 1_800, args: { correlation } });
      event({ cat: "kernel", name, tid: 7, ts: ts + 20, dur: 1_700, args: { correlation, stream: 7, device: 0 } });
      // Another thread is in the middle of a copy at this time, so there is a holder.
      correlation++;
      event({ cat: "cuda_runtime", name: "cudaMemcpyAsync", tid: 99, ts, dur: 1_810, args: { correlation } });
      event({
        cat: "gpu_memcpy", name: "Memcpy DtoH (Device -> Pageable)", tid: 7, ts: ts + 5, dur: 1_790,
        args: { correlation, stream: 7, device: 0, bytes: 1 << 20 },
      });
    });
  }
  const text = `{"schemaVersion": 1, "traceEvents": [\n${events.join(",\n")}\n]}`;
  const bytes = Buffer.from(text);
  writeFileSync(file, bytes);
  for (let at = bytes.indexOf("window.ran"); at >= 0; at = bytes.indexOf("window.ran", at + 1)) bytes[at + 6] = 0xff;
  writeFileSync(`${file}.broken`, bytes);
  return [file, `${file}.broken`];
}
