"""A video stitcher: NPP calls in the null stream wait for the inference, and the decoder's copies wait for them."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from nsys import KB, MB, MS, US, Gpu, OUT, WITHIN, Trace  # noqa: E402

trace = Trace(18, ("cuda", "nvtx"), "./reco-cli preview --detect left.mp4 right.mp4")
process = trace.process("reco-cli", 66021, Gpu("rtx5070"))
decoding, inference = process.stream(1), process.stream(1)
KERNELS = ("void ForEachPixelNaive<unsigned char, 3, NV12ToRGBFunctor>(Image<unsigned char, 1>, Image<unsigned char, 3>)",
           "void ResizeLinearKernel<unsigned char, 3>(Image<unsigned char, 3>, Image<unsigned char, 3>, float, float)",
           "void MirrorBothKernel<unsigned char, 3>(Image<unsigned char, 3>)")


def decode(thread):
    while thread.now < 1420 * MS:
        with thread.range("decode_frame"):
            thread.host(1300 * US)                          # the video engine decodes
            thread.copy(decoding, 3840 * 2160, WITHIN, name="cuMemcpy2DAsync_v2")
            thread.copy(decoding, 3840 * 1080, WITHIN, name="cuMemcpy2DAsync_v2")
            thread.wait(decoding, name="cuStreamSynchronize")
        yield


def convert(thread):
    with thread.range("npp_preprocess"):
        for kernel in KERNELS:
            thread.launch(process.null, kernel, 105 * US, 2040)
            yield


def detect(thread):
    yield from convert(thread)
    while thread.now < 1420 * MS:
        with thread.range("yolo_inference"):
            for layer in range(13):
                thread.launch(inference, "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x128x32", 560 * US, 96,
                              128, 128)
                yield
            thread.copy(inference, 700 * KB, OUT)
            done = thread.record(inference)
        yield
        yield from convert(thread)                          # the next frame's, while the inference runs
        thread.wait(event=done)
        yield
        with thread.range("track_objects"):
            thread.host(4300 * US)
        yield


decoder, detector = process.thread("decode-left", at=1250 * MS), process.thread("detector", at=1251 * MS)
trace.together((decoder, decode(decoder)), (detector, detect(detector)))
trace.save(HERE / "trace.sqlite")
