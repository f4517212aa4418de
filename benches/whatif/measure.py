"""Records programs and measures what mends them: `pairs.toml`. Needs a GPU, nvcc, and a Python with PyTorch, CuPy and JAX.

    measure.py HOLDUP OUT [--record TIMES] [--kineto] [--once] [--prove ROUNDS] [--warm-ups RUNS] [--only NAME,…] [--language cu|py]

Writes OUT/NAME.holdup, a recording of each program before, further ones OUT/NAME-2.holdup and so on, and OUT/NAME.json, the result of
`holdup prove`. `compare.py` reads them. With both, a recording follows each run of the program before (`beside.py`) until there are enough.
`--kineto` writes OUT/NAME.kineto.json.gz besides, a trace of PyTorch's profiler of each program of PyTorch before.
`--once` runs each program once before and once after, to see that it works.
"""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
METRIC = r"section: ([0-9.]+) ms"


def main():
    arguments = read_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pairs = tomllib.loads((HERE / "pairs.toml").read_text())["pair"]
    pairs = [pair for pair in pairs if arguments.language in (None, pair["language"])]
    pairs = [pair for pair in pairs if not arguments.only or pair["name"] in arguments.only.split(",")]
    binary = build(arguments.out) if any(pair["language"] == "cu" for pair in pairs) else None
    server = Mps(arguments.out) if any("$MPS" in pair.get("set", {}).values() for pair in pairs) else None
    failed = []
    try:
        for pair in pairs:
            begin = time.monotonic()
            if not measure(pair, arguments, binary, server):
                failed.append(pair["name"])
            print(f"{pair['name']}: {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        if server:
            server.end()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def read_arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("holdup", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("out", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--record", type=int, default=0)
    parser.add_argument("--kineto", action="store_true")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--prove", type=int)
    parser.add_argument("--warm-ups", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--language", choices=["cu", "py"])
    return parser.parse_args()


def build(out):
    binary = out / "programs"
    subprocess.run(["nvcc", "-O2", "-std=c++17", "-o", binary, HERE / "programs.cu", "-ldl"], check=True)
    return binary


class Mps:
    """A server of our own."""

    def __init__(self, out):
        self.pipes = f"/tmp/holdup-whatif-{os.getpid()}"
        self.variables = os.environ | {"CUDA_MPS_PIPE_DIRECTORY": self.pipes, "CUDA_MPS_LOG_DIRECTORY": str(out / "mps")}
        os.makedirs(self.pipes)
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env=self.variables, check=True)

    def end(self):
        subprocess.run(["nvidia-cuda-mps-control"], env=self.variables, input="quit\n", text=True, check=False)


def measure(pair, arguments, binary, server):
    program = [binary] if pair["language"] == "cu" else ["python3", HERE / "programs.py"]
    program = [*map(str, program), pair.get("program", pair["name"])]
    before, after = [*program, "before"], [*program, pair.get("after", "after")]
    variables = os.environ | pair.get("before", {})
    changed = {name: value.replace("$MPS", server.pipes if server else "") for name, value in pair.get("set", {}).items()}
    results = []

    beside = [str(HERE / "beside.py"), str(arguments.holdup), str(arguments.out), pair["name"], str(arguments.record)]
    recorded = ["python3", *beside, *before] if arguments.record else before
    if arguments.record:
        for old in (path for end in ("", "-[0-9]") for path in arguments.out.glob(f"{pair['name']}{end}.holdup")):
            old.unlink()
    if arguments.kineto and pair.get("kineto"):
        trace = str(arguments.out / f"{pair['name']}.kineto.json.gz")
        results.append(subprocess.run(before, env=variables | {"KINETO": trace}).returncode)
    if arguments.once:
        for command, environment in (before, variables), (after, variables | changed):
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
            print(f"  {command[-1]}: {done.stdout.strip()}", flush=True)
            results.append(done.returncode)
    if arguments.prove:
        command = [arguments.holdup, "prove", "--metric", METRIC, "--less-is-better", "--format", "json"]
        command += ["--rounds", str(arguments.prove), "--warm-ups", str(arguments.warm_ups), "--against", shlex.join(recorded)]
        command += [word for name, value in changed.items() for word in ("--with", f"{name}={value}")]
        with open(arguments.out / f"{pair['name']}.json", "w") as result:
            results.append(subprocess.run([*command, "--", *after], env=variables, stdout=result).returncode)
    elif arguments.record:
        results += [subprocess.run(recorded, env=variables).returncode for _ in range(arguments.record)]
    return not any(results)


if __name__ == "__main__":
    main()
