"""A flow solver hands device fields with a strided MPI datatype to MPI, which copies each piece of 8 to 24 bytes on its own."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MS, US, Gpu, OUT, IN, PINNED, Trace  # noqa: E402

trace = Trace(28, ("cuda",), "mpirun -n 2 ./u-dales namoptions.542")
process = trace.process("u-dales", 61200, Gpu("a100"))
transfer = process.stream(2)
thread = process.thread("u-dales", at=4410 * MS)
for step in range(2):
    for name, duration in (("advection_advecc_kappa_142_gpu", 410), ("subgrid_diffc_311_gpu", 350), ("poisson_solmpj_88_gpu", 520),
                           ("tstep_tstep_integrate_60_gpu", 190)):
        thread.host(11 * US)
        thread.launch(process.null, name, duration * US, 16640, 128, 64, name="cuLaunchKernel")
    thread.wait(process.null, name="cuStreamSynchronize")
    for kind, size in ((OUT, 8), (OUT, 24), (IN, 8)):
        for piece in range(85):
            thread.copy(transfer, size, kind, PINNED, "cuMemcpyAsync", waits=False)
            thread.wait(transfer, name="cuStreamSynchronize")
trace.nsys_csv(HERE / "trace.csv", process, thread)
