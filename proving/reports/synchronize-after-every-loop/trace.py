"""A plasma code at low resolution waits for the device after each loop over its boxes."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MS, US, Gpu, Trace  # noqa: E402

trace = Trace(19, ("cuda", "nvtx"), "./hipace inputs_normalized")
process = trace.process("hipace", 15230, Gpu("a100"))
streams = [process.stream(1) for _ in range(4)]
thread = process.thread("hipace", at=8100 * MS)
LOOPS = (("UpdateForcePushParticles_PlasmaParticleContainer()", "UpdateForcePushParticles", 74), ("Fields::Copy()", "CopyFields", 17),
         ("DepositCurrent_PlasmaParticleContainer()", "DepositCurrent", 63), ("Fields::AddRhoIons()", "AddRhoIons", 15),
         ("Fields::SolvePoissonExmByAndEypBx()", "ComputeRHS", 29), ("Hipace::InitializeSxSyWithBeam()", "InitializeSxSy", 21),
         ("Fields::ShiftSlices()", "ShiftSlices", 19))
for slice_ in range(30):
    for index, (label, kernel, duration) in enumerate(LOOPS):
        with thread.range(label):
            thread.host(4 * US)
            thread.launch(streams[index % 4], f"void amrex::launch_global<256, amrex::ParallelFor<{kernel}>>(T2)", duration * US, 64, 256,
                          48)
            thread.wait()
        thread.host(3 * US)
trace.save(HERE / "trace.sqlite")
