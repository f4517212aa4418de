"""A language model's sampler sorts the whole vocabulary on the host for every token, only to compute a softmax."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import MB, MS, US, Gpu, IN, OUT, PAGEABLE, Trace  # noqa: E402

trace = Trace(23, ("cuda", "sample"), "./whodunit_verdict")
process = trace.process("whodunit_verdict", 60333, Gpu("rtx3090"))
stream = process.stream(2)
thread = process.thread("whodunit_verdic", at=15800 * MS)
PROGRAM = "whodunit_verdict"
thread.stack = [("drama_llama::engine::Engine::predict", PROGRAM), ("whodunit_verdict::main", PROGRAM), ("main", PROGRAM)]
SOFTMAX = [("drama_llama::candidates::Candidates::sort", PROGRAM), ("drama_llama::candidates::Candidates::softmax", PROGRAM),
           ("drama_llama::candidates::Candidates::locally_typical", PROGRAM), ("drama_llama::sample::sample_token", PROGRAM)]
for token in range(14):
    thread.host(60 * US, ("llama_batch_init", "libllama.so"))
    thread.copy(stream, 4096, IN, PAGEABLE)
    for layer in range(8):
        thread.host(14 * US, ("ggml_cuda_compute_forward", "libggml-cuda.so"), ("llama_decode", "libllama.so"))
        thread.launch(stream, "void mul_mat_vec_q<(ggml_type)12, 1>(const void *, const void *, float *, int, int)", 480 * US, 2048)
        thread.launch(stream, "void flash_attn_ext_vec_f16<128, 1>(const char *, const char *, float2 *, float)", 190 * US, 256, 128, 92)
        thread.launch(stream, "void k_bin_bcast<&op_add, float, float, float>(const float *, const float *, float *)", 45 * US, 512)
    thread.copy(stream, 248320 * 4, OUT, PAGEABLE)
    thread.wait(stream)
    thread.host(2600 * US, ("drama_llama::candidates::Candidates::from_logits", PROGRAM), ("drama_llama::sample::sample_token", PROGRAM))
    thread.host(13200 * US, ("partial_sort::partial_sort", PROGRAM), *SOFTMAX)
    thread.host(2500 * US, ("partial_sort::make_heap", PROGRAM), *SOFTMAX)
    thread.host(1900 * US, ("expf", "libm.so.6"), *SOFTMAX[1:])
    thread.host(2200 * US, ("drama_llama::candidates::Candidates::locally_typical", PROGRAM),
                ("drama_llama::sample::sample_token", PROGRAM))
trace.sample(thread, 1300 * US)
trace.save(HERE / "trace.sqlite")
