#!/usr/bin/env python3
"""Makes kernels.ptx of kernels.cu, with the compiler that NVIDIA ships as a library; neither a GPU nor a toolkit is needed:

    pip install nvidia-cuda-nvrtc-cu11==11.8.89 nvidia-cuda-nvcc-cu11==11.8.89
    lab/gpu/kernels/make.py           # rewrites kernels.ptx
    lab/gpu/kernels/make.py --check   # says whether it is what the compiler makes of kernels.cu

The target is compute capability 5.2, the oldest that CUDA 11 to 12 compile for without complaint, and what newer devices
run too, for drivers translate PTX for the device at hand. The compiler writes PTX 7.8, which drivers before CUDA 11.8
refuse, though nothing here needs more than PTX 7.0 (CUDA 11.0): the version is lowered, and the second package's
assembler, which knows what each version has, must take the result. CUDA 13's nvcc knows no target below 7.5.
"""

import ctypes
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PTX = HERE / "kernels.ptx"
TARGET = "52"
ISA = "7.0"
HEADER = f"""\
// Made from kernels.cu by make.py with NVRTC 11.8, target compute_{TARGET}, and lowered to PTX {ISA}.
"""


def packaged(name: str) -> pathlib.Path:
    """A file of one of the packages."""
    for folder in importlib.util.find_spec("nvidia").submodule_search_locations:
        path = pathlib.Path(folder) / name
        if path.exists():
            return path
    sys.exit(f"{name} is missing; pip install nvidia-cuda-nvrtc-cu11==11.8.89 nvidia-cuda-nvcc-cu11==11.8.89")


def compile(source: bytes) -> str:
    """The PTX of a CUDA source."""
    library = ctypes.CDLL(str(packaged("cuda_nvrtc/lib/libnvrtc.so.11.2")))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()

    def done(code: int) -> None:
        if code != 0:
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            sys.exit(log.value.decode() or f"NVRTC fails with {code}")

    options = [f"--gpu-architecture=compute_{TARGET}".encode(), b"--std=c++14"]
    done(library.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None))
    done(library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)))
    done(library.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    done(library.nvrtcGetPTX(program, ptx))
    return ptx.value.decode()


def lower(ptx: str) -> str:
    """The same PTX, in an older version's name and without the compiler's comments."""
    ptx = re.sub(r"\.version \d+\.\d+", f".version {ISA}", ptx, count=1)
    lines = [line.rstrip() for line in ptx.splitlines() if not line.startswith("//")]
    return HEADER + "\n".join(lines).strip() + "\n"


def assemble(ptx: str) -> None:
    """Stops if the assembler does not take the PTX for its own target and a few newer ones."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernels.ptx"
        path.write_text(ptx)
        for target in [TARGET, "75", "86", "90"]:
            subprocess.run(
                [packaged("cuda_nvcc/bin/ptxas"), f"-arch=sm_{target}", "-o", "/dev/null", path], check=True
            )


def main() -> None:
    made = lower(compile((HERE / "kernels.cu").read_bytes()))
    assemble(made)
    if sys.argv[1:] == ["--check"]:
        if made != PTX.read_text():
            sys.exit("kernels.ptx is not what kernels.cu makes; run lab/gpu/kernels/make.py")
    else:
        PTX.write_text(made)


if __name__ == "__main__":
    main()
