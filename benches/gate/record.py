#!/usr/bin/env python3
"""Records programs without a regression several times, and with each planted regression once: `programs.cu`, `programs.py`.
Needs a GPU, nvcc, and a Python with PyTorch and CuPy. `judge.py` compares the recordings.

    record.py HOLDUP OUT [--limit SECONDS] [--only PROGRAM,…] [--quick]

Ends within the limit: what no time is left for is not recorded, and is named. Writes OUT/NAME.holdup, OUT/manifest.json, and packs
all of it into OUT/packed/gate-N.tar, each below 15 MB. Ends with status 1 if a recording failed.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# By program: its source, and what is planted into it.
PROGRAMS = {
    "solver": ("programs.cu", ["readback", "malloc", "pin", "device-sync", "host"]),
    "pipeline": ("programs.cu", ["lock", "pageable", "sleep", "register"]),
    "images": ("programs.cu", ["stream-sync", "fresh", "first-launch"]),
    "simulate": ("programs.py", ["float", "get", "compile", "free"]),
    "train": ("programs.py", ["item", "pageable", "empty-cache", "sleep", "compute", "first", "nonzero"]),
    "serve": ("programs.py", ["cpu", "lock", "gil"]),
}
# Recordings of each program without a plant: the most by program, and of all before the plants are recorded.
MOST = {"solver": 12, "pipeline": 12, "images": 12, "simulate": 10, "train": 8, "serve": 8}
FIRST = 3
# Longest run of one program, s; a tar file's most bytes.
RUN_LIMIT = 45
TAR_LIMIT = 14_000_000


def main():
    arguments = read_arguments()
    begin = time.monotonic()
    arguments.out.mkdir(parents=True, exist_ok=True)
    programs = arguments.only.split(",") if arguments.only else list(PROGRAMS)
    if unknown := set(programs) - set(PROGRAMS):
        sys.exit(f"record.py: no program {', '.join(sorted(unknown))}: there are {', '.join(PROGRAMS)}")
    recorder = Recorder(arguments, begin)
    recorder.prepare(programs)
    for program, plant, number in jobs(programs, arguments.quick):
        recorder.record(program, plant, number)
    recorder.manifest()
    pack(arguments.out)
    print(f"{len(recorder.recorded)} recordings in {time.monotonic() - begin:.0f} s", flush=True)
    for title, names in [("failed", recorder.failed), ("no time left", recorder.skipped)]:
        if names:
            print(f"{title}: {', '.join(names)}", flush=True)
    sys.exit(bool(recorder.failed))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("holdup", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("out", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--limit", type=float, default=335, help="seconds from the start to the last recording's end, about")
    parser.add_argument("--only", help="programs, separated by commas")
    parser.add_argument("--quick", action="store_true", help="each program once without a plant, and its plants")
    return parser.parse_args()


def jobs(programs, quick):
    """What is recorded, in the order of what matters most if time ends: some of each program, the plants, then the rest by turns."""
    first = 1 if quick else FIRST
    for number in range(first):
        yield from ((program, "", number) for program in programs)
    for at in range(max(len(plants) for _, plants in PROGRAMS.values())):
        yield from ((program, plant, 0) for program in programs for plant in PROGRAMS[program][1][at : at + 1])
    for number in range(first, 0 if quick else max(MOST.values())):
        yield from ((program, "", number) for program in programs if number < MOST[program])


class Recorder:
    """Records one program after the other."""

    def __init__(self, arguments, begin):
        self.holdup, self.out, self.limit, self.begin = arguments.holdup, arguments.out, arguments.limit, begin
        self.recorded, self.failed, self.skipped = [], [], []
        self.longest = {}
        self.broken = {}
        self.binary = self.out / "programs"
        # CuPy keeps what it compiles here: the first, unrecorded run compiles.
        self.environment = os.environ | {"CUPY_CACHE_DIR": str(self.out / "cupy-cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def prepare(self, programs):
        """Compiles, and runs what compiles at its first run once without a recording."""
        if any(PROGRAMS[program][0] == "programs.cu" for program in programs):
            # Line tables, and a binary for this GPU alone: nothing is compiled when the program starts.
            command = ["nvcc", "-O1", "-g", "-std=c++17", "-Xcompiler", "-pthread", "-o", str(self.binary)]
            for architecture in "native", "sm_90":
                done, seconds, said = self.run([*command, f"-arch={architecture}", str(HERE / "programs.cu"), "-ldl"], 120)
                print(f"nvcc -arch={architecture}: {seconds:.1f} s", flush=True)
                if not done:
                    break
            if done:
                self.fail("nvcc", said)
                self.broken |= {program: 2 for program in PROGRAMS if PROGRAMS[program][0] == "programs.cu"}
        for program in set(programs) & {"simulate", "train"}:
            done, seconds, said = self.run(self.command(program, ""), RUN_LIMIT)
            print(f"{program}, not recorded: {seconds:.1f} s: {said.strip()[-200:]}", flush=True)
            if done:
                self.fail(f"{program} (not recorded)", said)
                self.broken[program] = 2

    def command(self, program, plant):
        source = PROGRAMS[program][0]
        run = [str(self.binary)] if source == "programs.cu" else [sys.executable, str(HERE / source)]
        return [*run, program, *([plant] if plant else [])]

    def record(self, program, plant, number):
        name = f"{program}-{plant}" if plant else f"{program}.{number}"
        left = self.limit - (time.monotonic() - self.begin)
        if self.broken.get(program, 0) > 1:
            return self.skipped.append(f"{name} (the program fails)")
        if left < 1.15 * self.longest.get(program, 3):
            return self.skipped.append(name)
        path = self.out / f"{name}.holdup"
        command = [str(self.holdup), "record", "--quiet", "--force", "-o", str(path), "--", *self.command(program, plant)]
        done, seconds, said = self.run(command, RUN_LIMIT)
        self.longest[program] = max(seconds, self.longest.get(program, 0))
        if done or not path.exists():
            self.fail(name, said or f"status {done}, and no recording")
            if not plant:
                self.broken[program] = self.broken.get(program, 0) + 1
            return None
        print(f"{name}: {seconds:.1f} s, {path.stat().st_size // 1000} kB: {said.strip()[-200:]}", flush=True)
        self.recorded.append({"name": name, "program": program, "plant": plant, "number": number, "seconds": round(seconds, 2)})
        return None

    def fail(self, name, said):
        self.failed.append(name)
        print(f"{name}: failed: {' | '.join(said.strip().splitlines()[-6:])}", flush=True)

    def run(self, command, limit):
        """Exit status, seconds, and what a command printed; it and what it started end after the limit."""
        begin = time.monotonic()
        try:
            process = subprocess.Popen(
                command, env=self.environment, cwd=self.out, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
            )
        except OSError as error:
            return 127, 0.0, str(error)
        try:
            said, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            return 124, time.monotonic() - begin, f"{said}\nnot done after {limit} s"
        return process.returncode, time.monotonic() - begin, said

    def manifest(self):
        """What was recorded, and the lines of each plant."""
        plants = {program: {plant: lines(source, plant) for plant in plants} for program, (source, plants) in PROGRAMS.items()}
        text = {"recordings": self.recorded, "plants": plants, "failed": self.failed, "skipped": self.skipped}
        (self.out / "manifest.json").write_text(json.dumps(text, indent=1) + "\n")


def lines(source, plant):
    """`programs.cu:81` for each line that ends with the plant's name."""
    mark = re.compile(rf"(//|#) plant: {re.escape(plant)}$")
    text = (HERE / source).read_text().splitlines()
    return [f"{source}:{at}" for at, line in enumerate(text, 1) if mark.search(line)]


def pack(out):
    """Packs recordings and manifest into tar files."""
    packed = out / "packed"
    shutil.rmtree(packed, ignore_errors=True)
    packed.mkdir()
    number, size, tar = 0, 0, None
    for path in [out / "manifest.json", *sorted(out.glob("*.holdup"))]:
        more = path.stat().st_size + 2048
        if more > TAR_LIMIT:
            print(f"{path.name}: {more} bytes, too large to pack", flush=True)
            continue
        if tar is None or size + more > TAR_LIMIT:
            if tar:
                tar.close()
            number, size = number + 1, 0
            tar = tarfile.open(packed / f"gate-{number}.tar", "w")
        tar.add(path, path.name)
        size += more
    if tar:
        tar.close()
    print("packed: " + ", ".join(f"{path.name} {path.stat().st_size // 1000} kB" for path in sorted(packed.glob("*.tar"))), flush=True)


if __name__ == "__main__":
    main()
