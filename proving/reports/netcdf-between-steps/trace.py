"""An ocean model compresses and writes its output with NetCDF in the thread that launches the time steps."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MB, MS, US, Gpu, OUT, PAGEABLE, Trace  # noqa: E402

trace = Trace(24, ("cuda", "osrt"), "julia --project free_convection.jl")
process = trace.process("julia", 22519, Gpu("v100"))
thread = process.thread("julia", at=12100 * MS)
WRITE = [("__write", "libc.so.6"), ("H5FD__sec2_write", "libhdf5.so.103"), ("H5D__chunk_flush_entry", "libhdf5.so.103"),
         ("nc4_put_vars", "libnetcdf.so.13"), ("nc_put_vara_double", "libnetcdf.so.13"), ("julia_write_output_19220", "[jit]"),
         ("julia_time_step!_19014", "[jit]"), ("main", "julia")]
KERNELS = (("ptxcall_calculate_interior_source_terms__3", 1900), ("ptxcall_update_velocities_and_tracers__4", 640),
           ("ptxcall_update_hydrostatic_pressure__1", 420), ("void composite_2way_fft_1C<double, 256>(kernel_params_t)", 380),
           ("ptxcall_solve_poisson_for_pressure__5", 510))
PATH = "free_convection_velocity_fields.nc"
trace.row("OSRT_FILE_ACCESS_DESCRIPTORS", fileAccessId=0, processId=process.pid, openedAt=12050 * MS, closedAt=0, filePath=PATH)
for output in range(5):
    for step in range(5):
        for name, duration in KERNELS:
            thread.host(26 * US)
            thread.launch(process.null, name, duration * US, 4096, 256, 80, name="cuLaunchKernel", cost=6 * US)
    for field in range(4):
        thread.copy(process.null, 4 * MB, OUT, PAGEABLE, "cuMemcpyDtoH_v2")
    for field in range(4):
        for chunk in range(6):
            thread.host(4100 * US)                          # the library compresses the chunk
            start, end = thread.os("write", 1400 * US, chain=WRITE)
            trace.row("OSRT_FILE_ACCESS_EVENTS", fileAccessId=0, threadId=thread.tid, startedAt=start, endedAt=end, eventType=4,
                      apiCallId=trace.string("write"), bytesProcessed=trace.about(1700 * KB))
    thread.os("fsync", 8 * MS, chain=[("fsync", "libc.so.6"), *WRITE[1:]])
trace.background(process, 12090 * MS, thread.now)
trace.save(HERE / "trace.sqlite")
