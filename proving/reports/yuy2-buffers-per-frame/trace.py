"""A colour conversion on a Jetson Nano allocates and frees its two device buffers for every frame of a recording that it plays back."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MB, MS, US, Gpu, IN, OUT, PAGEABLE, Trace  # noqa: E402

trace = Trace(11, ("cuda", "osrt"), "./rs-convert -i street.bag")
process = trace.process("rs-convert", 8123, Gpu("nano"))
thread = process.thread("rs-convert", at=1310 * MS)
trace.background(process, 1300 * MS, 1440 * MS)
PIXELS = 1280 * 720
thread.stack = [("rscuda::unpack_yuy2_cuda_helper(unsigned char const*, unsigned char*, int, rs2_format)", "librealsense2.so.2.53"),
                ("librealsense::yuy2_converter::process_function", "librealsense2.so.2.53"), ("main", "rs-convert")]


def memory(name, cost):
    """The driver goes to the kernel for each buffer."""
    start, end, _ = thread.call(name, cost)
    thread.os("ioctl", start=start + 24 * US, until=end - 31 * US, out=False,
              chain=[("__GI___ioctl", "libc.so.6"), ("0x7f9a41c3d0", "libcuda.so.1"), (name, "librealsense2.so.2.53")])


for frame in range(34):
    thread.os("read", 38 * US, out=False)
    thread.host(190 * US)
    memory("cudaMalloc", 590 * US)
    memory("cudaMalloc", 640 * US)
    thread.copy(process.null, PIXELS * 2, IN, PAGEABLE, "cudaMemcpy", speed=4.2)
    thread.launch(process.null, "kernel_unpack_yuy2_rgb8_cuda(const unsigned char *, unsigned char *, int)", 340 * US, 1800, 256,
                  cost=19 * US)
    thread.wait(cost=6 * US)
    thread.copy(process.null, PIXELS * 3, OUT, PAGEABLE, "cudaMemcpy", speed=4.6)
    memory("cudaFree", 480 * US)
    memory("cudaFree", 520 * US)
trace.save(HERE / "trace.sqlite")
