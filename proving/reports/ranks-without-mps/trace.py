"""Two MPI ranks of a neural simulator use one GPU in turns, because no multi-process service runs."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MS, US, Gpu, Trace  # noqa: E402

gpu = Gpu("v100", alone=True)
trace = Trace(16, ("cuda", "nvtx"), "mpirun -n 2 ./x86_64/special-core --mpi --gpu -d coredat")
ranks = []
KERNELS = (("coreneuron::nrn_cur_hh_gpu", 74), ("coreneuron::nrn_state_hh_gpu", 118), ("coreneuron::nrn_cur_ProbAMPANMDA_EMS_gpu", 96),
           ("coreneuron::nrn_state_ProbAMPANMDA_EMS_gpu", 88), ("coreneuron::solve_interleaved2_kernel", 141),
           ("coreneuron::net_buf_receive_gpu", 22))


def steps(process, thread, stream):
    for _ in range(32):
        with thread.range("timestep"):
            thread.host(38 * US)
            if gpu.owner is not process:                    # the GPU changes to this process when the other has nothing to run
                gpu.place("kernels", thread.now, trace.between(70 * US, 110 * US))
                gpu.owner = process
            for name, duration in KERNELS:
                thread.launch(stream, name + "(coreneuron::NrnThread *, coreneuron::Memb_list *)", duration * US, 340, 128, 72,
                              name="cuLaunchKernel")
            thread.wait(stream, name="cuStreamSynchronize")
        yield


for number in range(2):
    process = trace.process("special-core", 40110 + 40 * number, gpu)
    ranks.append((process, process.thread("special-core", at=5200 * MS + number * 170 * US), process.stream(2)))
trace.together(*((thread, steps(process, thread, stream)) for process, thread, stream in ranks))
trace.save(HERE / "trace.sqlite")
