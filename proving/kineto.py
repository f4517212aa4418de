"""A small writer of PyTorch profiler traces (Kineto's Chrome format), for traces whose fault is known.

It simulates a process: threads with a clock each, streams that run in order, calls that last as long as on such a machine.
A call that waits ends a few microseconds after what it waits for; a kernel starts after its launch and after its stream's
earlier work. All times are whole nanoseconds, all jitter comes from one seed, so that a trace is the same each time it is written.

    trace = kineto.Trace(seed=1, device="a100", stack=True)
    main = trace.thread("python3")
    with main.frame("train.py(10): main"), main.op("aten::relu"):
        main.launch("add", 12)
    trace.write(__file__)
"""
import gzip
import json
import math
import os
import random
from contextlib import contextmanager

US = 1000
MS = 1000 * US

# name, memory, compute capability, multiprocessors, threads and shared memory of each
DEVICES = {
    "v100": ("Tesla V100-SXM2-16GB", 16945512448, (7, 0), 80, 2048, 98304, 98304),
    "t4": ("Tesla T4", 15655829504, (7, 5), 40, 1024, 65536, 65536),
    "a100": ("NVIDIA A100-SXM4-80GB", 85097971712, (8, 0), 108, 2048, 166912, 167936),
    "3060": ("NVIDIA GeForce RTX 3060", 12622168064, (8, 6), 28, 1536, 101376, 102400),
    "3090": ("NVIDIA GeForce RTX 3090", 25438126080, (8, 6), 82, 1536, 101376, 102400),
    "4090": ("NVIDIA GeForce RTX 4090", 25393692672, (8, 9), 128, 1536, 101376, 102400),
    "h100": ("NVIDIA H100 80GB HBM3", 85029158912, (9, 0), 132, 2048, 232448, 233472),
    "h200": ("NVIDIA H200", 150109880320, (9, 0), 132, 2048, 232448, 233472),
}

RUNTIME = {
    "cudaMalloc": 20, "cudaFree": 22, "cudaFreeHost": 26, "cudaHostAlloc": 27, "cudaMemGetInfo": 30, "cudaMemcpyAsync": 41,
    "cudaMemsetAsync": 51, "cudaStreamSynchronize": 131, "cudaEventRecord": 135, "cudaEventSynchronize": 137, "cudaEventQuery": 138,
    "cudaEventElapsedTime": 139, "cudaStreamWaitEvent": 147, "cudaDeviceSynchronize": 165, "cudaFuncGetAttributes": 15,
    "cudaStreamCreateWithPriority": 202, "cudaLaunchKernel": 211, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": 251,
    "cudaFuncSetAttribute": 273, "cudaGraphInstantiate": 310, "cudaGraphLaunch": 311, "cudaGraphDestroy": 314,
    "cudaStreamBeginCapture": 315, "cudaStreamIsCapturing": 317, "cudaStreamEndCapture": 319, "cudaGraphGetNodes": 322,
    "cudaStreamGetCaptureInfo_v2": 409, "cudaGraphInstantiateWithFlags": 418, "cudaLaunchKernelExC": 430,
}
DRIVER = {"cuModuleLoadData": 19, "cuModuleGetFunction": 23, "cuLaunchKernel": 307, "cuLaunchKernelEx": 652}
# Calls whose record starts a flow; the record of any other call ends one.
FLOW_START = {
    "cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaStreamWaitEvent", "cudaLaunchKernel",
    "cudaGraphLaunch", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx",
}

_ELEMENTWISE = ("void at::native::vectorized_elementwise_kernel<4, {0}, at::detail::Array<char*, {1}> >"
                "(int, {0}, at::detail::Array<char*, {1}>)")
_REDUCE = ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, {0}, unsigned int, float, 4> >"
           "(at::native::ReduceOp<float, {0}, unsigned int, float, 4>)")
_FOREACH = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::{0}, {1} >"
            "(at::native::(anonymous namespace)::{0}, {1})")
# short name: name, grid, block, registers, shared memory, occupancy
KERNELS = {
    "gemm": ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", (32, 16, 1), (128, 1, 1), 230, 81920, 13),
    "gemm_nn": ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn", (32, 16, 1), (128, 1, 1), 230, 81920, 13),
    "gemm_nt": ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_nt", (32, 32, 1), (128, 1, 1), 166, 98304, 13),
    "gemm16": ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn", (10, 64, 1), (128, 1, 1), 122, 73728, 17),
    "gemm32": ("ampere_sgemm_128x64_tn", (8, 24, 1), (128, 1, 1), 122, 24576, 25),
    "gemm32_v": ("volta_sgemm_128x64_nn", (6, 40, 1), (128, 1, 1), 126, 12544, 25),
    "gemm90": ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", (132, 1, 1), (384, 1, 1), 168, 213248, 19),
    "gemm90_nn": ("nvjet_tst_256x128_64x4_2x1_v_bz_coopA_NNT", (132, 1, 1), (384, 1, 1), 168, 213248, 19),
    "gemv": ("void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false, true, "
             "cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<__nv_bfloat16 const>, float> >(int)",
             (1024, 1, 1), (128, 1, 1), 62, 0, 50),
    "flash": ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
              "cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)", (16, 2, 32), (128, 1, 1), 254, 81920, 13),
    "flash_bwd": ("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_"
                  "traits<128, 64, 128, 8, 2, 4, "
                  "2, false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_bwd_params)", (16, 2, 32), (256, 1, 1), 254, 147456, 13),
    "paged": ("void vllm::paged_attention_v2_kernel<__nv_bfloat16, __nv_bfloat16, 128, 16, 128, 512>(float*, float*, __nv_bfloat16*)",
              (32, 64, 2), (128, 1, 1), 64, 1056, 50),
    "add": (_ELEMENTWISE.format("at::native::CUDAFunctor_add<float>", 3), (512, 1, 1), (128, 1, 1), 20, 0, 30),
    "mul": (_ELEMENTWISE.format("at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >", 2),
            (256, 1, 1), (128, 1, 1), 16, 0, 15),
    "lerp": (_ELEMENTWISE.format("at::native::lerp_scalar_functor<float>", 3), (96, 1, 1), (128, 1, 1), 22, 0, 6),
    "addcmul": (_ELEMENTWISE.format("at::native::addcmul_functor<float>", 4), (96, 1, 1), (128, 1, 1), 24, 0, 6),
    "addcdiv": (_ELEMENTWISE.format("at::native::addcdiv_functor<float>", 4), (96, 1, 1), (128, 1, 1), 30, 0, 6),
    "sqrt": (_ELEMENTWISE.format("at::native::sqrt_functor<float>", 2), (96, 1, 1), (128, 1, 1), 18, 0, 6),
    "isnan": (_ELEMENTWISE.format("at::native::CompareFunctor<float>", 3), (1, 1, 1), (128, 1, 1), 18, 0, 0),
    "relu": (_ELEMENTWISE.format("at::native::clamp_min_functor<float>", 2), (2048, 1, 1), (128, 1, 1), 16, 0, 100),
    "gelu": (_ELEMENTWISE.format("at::native::GeluFunctor<c10::BFloat16>", 2), (4096, 1, 1), (128, 1, 1), 24, 0, 100),
    "silu": (_ELEMENTWISE.format("at::native::silu_functor<c10::BFloat16>", 2), (4096, 1, 1), (128, 1, 1), 22, 0, 100),
    "fill": (_ELEMENTWISE.format("at::native::FillFunctor<float>", 1), (512, 1, 1), (128, 1, 1), 14, 0, 30),
    "sum": (_REDUCE.format("at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >"),
            (1, 64, 1), (32, 16, 1), 32, 16, 30),
    "norm": (_REDUCE.format("at::native::NormTwoOps<float, float, float>"), (1, 24, 1), (512, 1, 1), 32, 2064, 10),
    "argmax": (_REDUCE.format("at::native::ArgMaxOps<float>"), (1, 8, 1), (512, 1, 1), 32, 4112, 4),
    "layer_norm": ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
                   "c10::BFloat16 const*, "
                   "c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)", (4096, 1, 1), (32, 4, 1), 32, 24, 88),
    "batch_norm": ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct, float const*, "
                   "cudnnTensorStruct, float*, float const*, float const*)", (256, 1, 1), (512, 1, 1), 40, 400, 75),
    "softmax": ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float, "
                "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, c10::BFloat16 const*, int)",
                (2048, 1, 1), (1024, 1, 1), 32, 128, 100),
    "nll": ("void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, "
            "float*, float const*, "
            "long const*, float const*, bool, long, long, long, long)", (1, 1, 1), (32, 1, 1), 38, 256, 0),
    "softmax_bwd": ("void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16, float, float, "
                    "at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(c10::BFloat16*, float const*, float const*, int)",
                    (2048, 1, 1), (1024, 1, 1), 36, 128, 100),
    "embedding": ("void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>("
                  "at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)", (864, 1, 1), (128, 1, 1), 32, 0, 50),
    "gather": ("void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<"
               "at::native::OpaqueType<4> > > >(long)", (640, 1, 1), (128, 1, 1), 32, 0, 70),
    "scatter": ("void at::native::_scatter_gather_elementwise_kernel<128, 8, "
                "at::native::_cuda_scatter_gather_internal_kernel<true, float> >(int)",
                (420, 1, 1), (128, 1, 1), 28, 0, 60),
    "fused_adam": (_FOREACH.format("FusedOptimizerTensorListMetadata<4>",
                                   "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>"),
                   (320, 1, 1), (512, 1, 1), 56, 0, 50),
    "foreach": (_FOREACH.format("TensorListMetadata<2>", "at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 2, 1, 1>"),
                (320, 1, 1), (512, 1, 1), 40, 0, 75),
    "conv": ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_"
             "execute_kernel_cudnn", (98, 4, 1), (128, 1, 1), 238, 98304, 13),
    "conv_wino": ("void cudnn::winograd_nonfused::winogradForwardData4x4<float, "
                  "float>(cudnn::winograd_nonfused::WinogradDataParams<float, float>)",
                  (5, 16, 16), (32, 8, 1), 114, 0, 25),
    "conv_fft": ("void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int, int, int, int, int, int, int, int, int, "
                 "cudnn::reduced_divisor, bool, int2, int, int)", (64, 64, 1), (32, 8, 1), 79, 8448, 38),
    "conv_direct": ("void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false, true>(int, int, int, "
                    "float const*, int, "
                    "float*, float const*, kernel_conv_params)", (196, 4, 1), (128, 1, 1), 124, 11264, 25),
    "dgrad": ("sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_"
              "execute_kernel_cudnn", (98, 4, 1), (128, 1, 1), 238, 98304, 13),
    "wgrad": ("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_"
              "warpsize2x2x1_g1_tensor16x8x8_"
              "execute_kernel_cudnn", (18, 4, 4), (128, 1, 1), 244, 98304, 13),
    "conv1d": ("void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, float, float, float, "
               "float, float, float>("
               "cudnnTensorStruct, float const*, cudnnFilterStruct, float const*)", (450, 8, 1), (256, 1, 1), 94, 9216, 25),
    "triton_add": ("triton_poi_fused_add_mul_silu_0", (4096, 1, 1), (128, 1, 1), 24, 0, 100),
    "triton_norm": ("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1", (2048, 1, 1), (256, 1, 1), 32, 1024, 100),
    "grouped": ("void cutlass::device_"
                "kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int> >, "
                "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90ArrayTmaGmmaWarpSpecialized<4> > > >(Params)",
                (132, 1, 1), (384, 1, 1), 168, 216064, 19),
    "all_gather": ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", (16, 1, 1), (544, 1, 1), 96, 84016, 0),
    "reduce_scatter": ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                       (16, 1, 1), (544, 1, 1), 96, 84016, 0),
    "all_to_all": ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", (16, 1, 1), (544, 1, 1), 96, 84016, 0),
}
COPIES = {
    "pageable to device": ("Memcpy HtoD (Pageable -> Device)", 5.5), "pinned to device": ("Memcpy HtoD (Pinned -> Device)", 23.0),
    "device to pageable": ("Memcpy DtoH (Device -> Pageable)", 3.2), "device to pinned": ("Memcpy DtoH (Device -> Pinned)", 22.0),
    "device to device": ("Memcpy DtoD (Device -> Device)", 900.0),
}
STEP = 2  # correlation ids between two recorded calls: calls such as cudaGetLastError are filtered out


class Stream:
    """Work in order. `free`: when its last work ends; `after`: what a wait for an event put off."""

    def __init__(self, trace, number):
        self.trace, self.number, self.free, self.after, self.starts = trace, number, 0, 0, []


class Event:
    def __init__(self, time):
        self.time = time


class Trace:
    def __init__(self, seed, device="a100", devices=1, gpu=0, python="python3.11", stack=False, shapes=False, distributed=None,
                 pid=41702, cuda=12040, origin=4358676522690):
        self.random = random.Random(seed)
        self.device, self.devices, self.gpu, self.python, self.pid, self.cuda = device, devices, gpu, python, pid, cuda
        self.stack, self.shapes, self.distributed = stack, shapes, distributed
        self.origin = origin * US + self.random.randrange(US)
        self.host, self.calls, self.work, self.overhead = [], [], [], []
        self.threads, self.streams = [], {}
        self.correlation, self.external = 2101 + STEP * self.random.randrange(400), 0
        self.modules = {}
        self.main_stream = self.stream(7)

    def jitter(self, us, spread=0.13):
        """Nanoseconds near `us`: more often a little less, sometimes a good deal more."""
        factor = self.random.gauss(1.0, spread)
        if self.random.random() < 0.03:
            factor *= self.random.uniform(1.2, 1.9)
        return max(int(us * US * max(factor, 0.55)), 120)

    def between(self, low, high):
        return int(self.random.uniform(low, high) * US)

    def stream(self, number):
        return self.streams.setdefault(number, Stream(self, number))

    def thread(self, name=None, tid=None):
        thread = Thread(self, name or self.python, self.pid + len(self.threads) * 173 if tid is None else tid)
        self.threads.append(thread)
        return thread

    def drop(self, calls=False):
        """Loses the records of the GPU, and with `calls` those of all calls, as a profiler does that cannot get them."""
        self.work = []
        for event in self.host:
            event["work"] = []
        if calls:
            self.calls = []

    # -- writing

    def _time(self, ns):
        return f"{ns // US}.{ns % US:03d}"

    def _complete(self, category, name, pid, tid, start, end, args):
        text = json.dumps(args)[1:-1]
        return (f'  {{\n    "ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {pid}, "tid": {tid},\n'
                f'    "ts": {self._time(start)}, "dur": {self._time(end - start)}'
                + (f',\n    "args": {{\n      {text}\n    }}\n  }}' if args else "\n  }"))

    def _flow(self, phase, number, pid, tid, time, category="ac2g"):
        end = ', "bp": "e"' if phase == "f" else ""
        return (f'  {{\n    "ph": "{phase}", "id": {number}, "pid": {pid}, "tid": {tid}, "ts": {self._time(time)},\n'
                f'    "cat": "{category}", "name": "{category}"{end}\n  }}')

    def _meta(self, name, pid, tid, key, value):
        return (f'  {{\n    "name": "{name}", "ph": "M", "ts": {self._time(self.origin)}, "pid": {json.dumps(pid)}, "tid": {tid},\n'
                f'    "args": {{\n      "{key}": {json.dumps(value)}\n    }}\n  }}')

    def _device(self, number):
        name, memory, (major, minor), processors, threads, shared, processor_shared = DEVICES[self.device]
        return (f'\n    {{\n      "id": {number}, "name": "{name}", "totalGlobalMem": {memory},\n'
                f'      "computeMajor": {major}, "computeMinor": {minor},\n'
                f'      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": {threads},\n'
                f'      "regsPerBlock": 65536, "warpSize": 32,\n      "sharedMemPerBlock": 49152, "numSms": {processors}\n'
                f'    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": {shared}, '
                f'"sharedMemPerMultiprocessor": {processor_shared}\n'
                '    }')

    def _host_events(self):
        self.host.sort(key=lambda event: (event["start"], -event["end"]))
        python = {}
        for index, event in enumerate(self.host):
            args = dict(event["args"])
            if event["category"] == "python_function":
                python[id(event)] = len(python) + 1
                parent = event["parent"]
                args = {"Python parent id": python.get(id(parent)), "Python id": python[id(event)], **args}
            args["Ev Idx"] = index
            yield self._complete(event["category"], event["name"], self.pid, event["tid"], event["start"], event["end"], args)

    def _gpu_ranges(self):
        for event in self.host:
            if event["category"] != "user_annotation":
                continue
            spans = {}
            for work in event["work"]:
                start, end = spans.get(work["stream"], (work["start"], work["end"]))
                spans[work["stream"]] = min(start, work["start"]), max(end, work["end"])
            for stream, (start, end) in spans.items():
                yield self._complete("gpu_user_annotation", event["name"], self.gpu, stream, start - 1, end + 1,
                                     {"External id": event["args"]["External id"]})

    def text(self):
        events = list(self._host_events())
        work = {}
        for item in self.work:
            work.setdefault(item["correlation"], []).append(item)
        for call in self.calls:
            for item in work.get(call["correlation"], []):
                events.append(self._complete(item["category"], item["name"], self.gpu, item["stream"], item["start"], item["end"],
                                             item["args"]))
                events.append(self._flow("f", item["correlation"], self.gpu, item["stream"], item["start"]))
            events.append(self._complete(call["category"], call["name"], self.pid, call["tid"], call["start"], call["end"], call["args"]))
            events.append(self._flow("s" if call["name"] in FLOW_START else "f", call["correlation"], self.pid, call["tid"], call["start"]))
        events += self._gpu_ranges()
        for name, start, end in self.overhead:
            events.append(self._complete("overhead", name, -1, 0, start, end, {}))
        last = max([event["end"] for event in self.host + self.calls + self.work])
        gpus = 16 if self.calls or self.work else 0
        for pid, label, order in [(self.pid, "CPU", self.pid)] + [(gpu, f"GPU {gpu}", 5000000 + gpu) for gpu in range(gpus)]:
            events.append(self._meta("process_name", pid, 0, "name", self.python))
            events.append(self._meta("process_labels", pid, 0, "labels", label))
            events.append(self._meta("process_sort_index", pid, 0, "sort_index", order))
        if self.overhead:
            events.append(self._meta("process_name", -1, 0, "name", "Overhead"))
        for number in sorted({item["stream"] for item in self.work}):
            events.append(self._meta("thread_name", self.gpu, number, "name", f"stream {number} "))
            events.append(self._meta("thread_sort_index", self.gpu, number, "sort_index", number))
        for thread in self.threads:
            events.append(self._meta("thread_name", self.pid, thread.tid, "name", f"thread {thread.tid} ({thread.name})"))
            events.append(self._meta("thread_sort_index", self.pid, thread.tid, "sort_index", thread.tid))
        begin, end = self.origin - 310 * US, last + 145 * US
        events.append(f'  {{\n    "ph": "X", "cat": "Trace", "ts": {self._time(begin)}, "dur": {self._time(end - begin)},\n'
                      '    "pid": "Spans", "tid": "PyTorch Profiler",\n    "name": "PyTorch Profiler (0)",\n'
                      '    "args": {\n      "Op count": 0\n    }\n  }')
        events.append(self._meta("process_sort_index", "Spans", 0, "sort_index", 536870912))
        events.append('  {\n    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",\n'
                      f'    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": {self._time(begin)}\n  }}')
        events.append('  {\n    "name": "Record Window End", "ph": "i", "s": "g",\n'
                      f'    "pid": "", "tid": "", "ts": {self._time(end)}\n  }}')
        devices = ",".join(self._device(number) for number in range(self.devices))
        head = f'{{\n  "schemaVersion": 1,\n  "deviceProperties": [{devices}\n  ],\n'
        if self.distributed:
            head += f'  "distributedInfo": {json.dumps(self.distributed)},\n'
        if self.calls or self.work:
            head += f'  "cuda_driver_version": {self.cuda}, "cuda_runtime_version": {self.cuda},\n'
        if self.stack:
            head += '  "with_stack": 1,\n'
        if self.shapes:
            head += '  "record_shapes": 1,\n'
        number = "".join(self.random.choice("0123456789ABCDEF") for _ in range(32))
        return (head + f'  "trace_id": "{number}",\n  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": 1743033622000000000,\n'
                '  "traceEvents": [\n' + ",\n".join(events) + '\n  ],\n  "traceName": "/tmp/trace.json"\n}\n')

    def write(self, script):
        text = self.text()
        problems = check(json.loads(text))
        path = os.path.join(os.path.dirname(os.path.abspath(script)), "trace.json.gz")
        with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(text.encode())
        size = os.path.getsize(path)
        if size > 60000:
            problems.append(f"{size} bytes are too many")
        print(f"{os.path.basename(os.path.dirname(path)):34} {size:6} bytes, {summary(json.loads(text))}")
        for problem in problems[:20]:
            print("   ", problem)
        if problems:
            raise SystemExit(1)


class Thread:
    def __init__(self, trace, name, tid):
        self.trace, self.name, self.tid, self.now, self.open = trace, name, tid, trace.origin, []

    # -- time

    def spend(self, us, spread=0.13):
        self.now += self.trace.jitter(us, spread)
        return self

    def until(self, time, low=0.0, high=0.0):
        """Goes on at `time`, or a little later, if that is not over yet."""
        self.now = max(self.now, time + (self.trace.between(low, high) if high else 0))
        return self

    # -- what contains other events

    @contextmanager
    def _event(self, category, name, args, before, after):
        parent = next((event for event in reversed(self.open) if event["category"] == "python_function"), None)
        event = {"category": category, "name": name, "tid": self.tid, "start": self.now, "args": args, "parent": parent, "work": []}
        self.trace.host.append(event)
        self.open.append(event)
        self.now += self.trace.jitter(before)
        yield event
        self.now += self.trace.jitter(after)
        event["end"] = self.now
        self.open.pop()
        self.now += 40 + self.trace.random.randrange(90)

    @contextmanager
    def frame(self, name, before=0.9, after=0.7):
        if not self.trace.stack:
            yield None
            return
        with self._event("python_function", name, {}, before, after) as event:
            yield event

    @contextmanager
    def frames(self, *names):
        if not names:
            yield
            return
        with self.frame(names[0]), self.frames(*names[1:]):
            yield

    @contextmanager
    def module(self, name, key=None):
        """The call of a module, as PyTorch's tracer names it."""
        number = self.trace.modules.setdefault((name, key), len(self.trace.modules))
        if not self.trace.stack:
            yield None
            return
        with self._event("python_function", f"nn.Module: {name}_{number}", {"Python module id": number}, 0.9, 0.7) as event:
            yield event

    @contextmanager
    def op(self, name, dims=None, types=None, seq=None, backward=False, before=1.6, after=0.9, category="cpu_op"):
        self.trace.external += 1
        args = {"External id": self.trace.external, "Record function id": 0}
        if seq is not None:
            args.update({"Sequence number": seq, "Fwd thread id": 1 if backward else 0})
        if self.trace.shapes and category == "cpu_op":
            dims = dims or []
            strides = [[math.prod(shape[index + 1:]) for index in range(len(shape))] for shape in dims]
            args.update({"Concrete Inputs": [""] * len(dims), "Input type": types or ["float"] * len(dims), "Input Strides": strides,
                         "Input Dims": dims})
        with self._event(category, name, args, before, after) as event:
            yield event

    def range(self, name):
        return self.op(name, category="user_annotation")

    @contextmanager
    def ops(self, chain, **options):
        """Operators within operators: "aten::linear/aten::addmm"."""
        first, _, rest = chain.partition("/")
        with self.op(first, **options) as event:
            if rest:
                with self.ops(rest, **options) as inner:
                    yield inner
            else:
                yield event

    def run(self, chain, kernel=None, us=0, gap=5.0, inner=5.0, stream=None, **options):
        """An operator of the program's thread, and its kernel."""
        self.spend(gap)
        with self.ops(chain, **options):
            self.spend(inner)
            if kernel:
                self.launch(kernel, us, stream)
        return self

    def back(self, node, chain, kernel, us, gap=3.0, seq=None, stream=None):
        """A node of the backward pass."""
        self.spend(gap)
        with self.op(f"autograd::engine::evaluate_function: {node}", seq=seq, backward=True), self.op(node, seq=seq, backward=True):
            with self.ops(chain):
                self.spend(4)
                self.launch(kernel, us, stream)
        return self

    # -- calls

    def _external(self):
        return next((event["args"]["External id"] for event in reversed(self.open) if "External id" in event["args"]), None)

    def call(self, name, us=2.0, end=None):
        """A call into the runtime or the driver that takes `us`, and lasts until `end` if that is later."""
        trace = self.trace
        trace.correlation += STEP
        external = self._external()
        args = {} if external is None else {"External id": external}
        args.update({"cbid": RUNTIME.get(name) or DRIVER[name], "correlation": trace.correlation})
        record = {"category": "cuda_runtime" if name in RUNTIME else "cuda_driver", "name": name, "tid": self.tid, "start": self.now,
                  "correlation": trace.correlation, "args": args}
        self.now += trace.jitter(us)
        if end is not None:
            self.now = max(self.now, end)
        record["end"] = self.now
        trace.calls.append(record)
        self.now += 60 + trace.random.randrange(240)
        return record

    def _last(self, record, end):
        """Lets the call end later."""
        if end > record["end"]:
            self.now += end - record["end"]
            record["end"] = end

    def enqueue(self, record, stream, category, name, us, args):
        """Work of a call that was made by hand."""
        return self._work(record, stream, category, name, us, args, record["end"] + self.trace.between(2, 5))

    def _work(self, record, stream, category, name, us, args, ready, spread=0.04):
        trace = self.trace
        start = max(ready, stream.free + trace.between(0.8, 1.5), stream.after)
        start += -start % 32
        end = start + trace.jitter(us, spread) // 32 * 32 + 32
        external = {} if "External id" not in record["args"] else {"External id": record["args"]["External id"]}
        item = {"category": category, "name": name, "stream": stream.number, "start": start, "end": end,
                "correlation": record["correlation"], "args": {**external, **args}}
        trace.work.append(item)
        stream.free = end
        stream.starts.append(start)
        for event in self.open:
            event["work"].append(item)
        return item

    def _kernel(self, kernel, stream, record, more=None):
        name, grid, block, registers, shared, occupancy = KERNELS[kernel]
        processors = DEVICES[self.trace.device][3]
        blocks = grid[0] * grid[1] * grid[2]
        warps = -(-block[0] * block[1] * block[2] // 32)
        args = {"queued": 0, "device": self.trace.gpu, "context": 1, "stream": stream.number, "correlation": record["correlation"],
                "registers per thread": registers, "shared memory": shared, "blocks per SM": round(blocks / processors, 6),
                "warps per SM": round(blocks * warps / processors, 6), "grid": list(grid), "block": list(block),
                "est. achieved occupancy %": occupancy}
        args.update(more or {})
        return name, args

    def launch(self, kernel, us, stream=None, call="cudaLaunchKernel", host=5.2, more=None, blocking=False, load=None, spread=0.04):
        """Launches a kernel that runs for `us`. `blocking`: as with CUDA_LAUNCH_BLOCKING=1. `load`: the call first waits until
        the device is idle and then loads the kernel's module for so long."""
        trace, stream = self.trace, stream or self.trace.main_stream
        record = self.call(call, min(max(host, 4.0), 8.0) if host < 9 else host)
        if len(stream.starts) >= 1022:  # room in the queue
            self._last(record, stream.starts[-1022])
        if load is not None:
            idle = max(other.free for other in trace.streams.values())
            self._last(record, max(record["end"], idle + trace.between(3, 8)) + trace.jitter(load))
        name, args = self._kernel(kernel, stream, record, more)
        item = self._work(record, stream, "kernel", name, us, args, record["end"] + trace.between(2, 5), spread)
        if blocking:
            self._last(record, item["end"] + trace.between(4, 8))
        return item

    def graph(self, kernels, stream=None, host=None):
        """Launches an instantiated graph of kernels that run one after the other."""
        trace, stream = self.trace, stream or self.trace.main_stream
        record = self.call("cudaGraphLaunch", 14 + 1.4 * len(kernels) if host is None else host)
        ready = record["end"] + trace.between(3, 6)
        for kernel, us in kernels:
            name, args = self._kernel(kernel, stream, record)
            item = self._work(record, stream, "kernel", name, us, args, ready)
        return item

    def copy(self, kind, size, stream=None, rate=None):
        """A cudaMemcpyAsync. With pageable memory it is staged, or lasts until the copy has ended."""
        trace, stream = self.trace, stream or self.trace.main_stream
        name, usual = COPIES[kind]
        rate = rate or usual
        record = self.call("cudaMemcpyAsync", 8.5 if "pageable" in kind else 6.2)
        us = 1.3 + size / rate / 1000
        args = {"device": trace.gpu, "context": 1, "stream": stream.number, "correlation": record["correlation"], "bytes": size}
        item = self._work(record, stream, "gpu_memcpy", name, us, args, record["end"] + trace.between(1.5, 3))
        args = item["args"]
        args["memory bandwidth (GB/s)"] = size / (item["end"] - item["start"])
        if kind == "device to pageable" or (kind == "pageable to device" and size > 65536):
            self._last(record, item["end"] + trace.between(4, 9))
        return item

    def memset(self, size, stream=None):
        trace, stream = self.trace, stream or self.trace.main_stream
        record = self.call("cudaMemsetAsync", 5.6)
        args = {"device": trace.gpu, "context": 1, "stream": stream.number, "correlation": record["correlation"], "bytes": size}
        item = self._work(record, stream, "gpu_memset", "Memset (Device)", 1.2 + size / 1200000, args, record["end"] + trace.between(2, 4))
        item["args"]["memory bandwidth (GB/s)"] = size / (item["end"] - item["start"])
        return item

    def synchronize(self, stream=None):
        stream = stream or self.trace.main_stream
        return self.call("cudaStreamSynchronize", 3.5, end=max(stream.free, stream.after) + self.trace.between(3, 7))

    def synchronize_device(self):
        idle = max(stream.free for stream in self.trace.streams.values())
        return self.call("cudaDeviceSynchronize", 5.0, end=idle + self.trace.between(4, 9))

    def record(self, stream=None):
        stream = stream or self.trace.main_stream
        self.call("cudaEventRecord", 1.8)
        return Event(max(self.now, stream.free))

    def wait(self, stream, event):
        self.call("cudaStreamWaitEvent", 1.4)
        stream.after = max(stream.after, event.time + self.trace.between(1, 2))

    def synchronize_event(self, event):
        return self.call("cudaEventSynchronize", 3.0, end=event.time + self.trace.between(3, 8))

    # -- a few operators that occur often

    def item(self, pinned=True, chain="aten::item/aten::_local_scalar_dense", stream=None):
        """Tensor.item(): four bytes to the host, and a wait for them."""
        with self.ops(chain):
            self.copy("device to pinned" if pinned else "device to pageable", 4, stream)
            self.synchronize(stream)

    def to_device(self, size, pinned=False, blocking=True, stream=None, dims=None, rate=None):
        with self.op("aten::to", dims=dims), self.op("aten::_to_copy", dims=dims):
            with self.op("aten::empty_strided"):
                self.spend(2.5)
            with self.op("aten::copy_", dims=dims):
                self.copy("pinned to device" if pinned else "pageable to device", size, stream, rate)
                if blocking:
                    self.synchronize(stream)

    def to_host(self, size, pinned=False, stream=None):
        with self.op("aten::to"), self.op("aten::_to_copy"), self.op("aten::copy_"):
            self.copy("device to pinned" if pinned else "device to pageable", size, stream)
            self.synchronize(stream)


def _time(event):
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def check(trace):
    """What is wrong with a trace, if anything: a list of sentences."""
    problems, threads, streams, calls = [], {}, {}, {}
    for event in trace["traceEvents"]:
        if event["ph"] != "X" or event["cat"] in ("Trace", "overhead", "gpu_user_annotation"):
            continue
        start, end = _time(event)
        if end < start or start < 0:
            problems.append(f"{event['name']} has a negative duration")
        if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            streams.setdefault(event["tid"], []).append((start, end, event))
        else:
            threads.setdefault(event["tid"], []).append((start, -end, event))
            if event["cat"] in ("cuda_runtime", "cuda_driver"):
                calls[event["args"]["correlation"]] = event
    for tid, events in threads.items():
        stack = []
        for start, end, event in sorted(events, key=lambda item: item[:2]):
            while stack and stack[-1][0] <= start:
                stack.pop()
            if stack and -end > stack[-1][0]:
                problems.append(f"{event['name']} of thread {tid} ends after {stack[-1][1]['name']}, which contains its start")
            stack.append((-end, event))
    for number, events in streams.items():
        previous = None
        for start, end, event in sorted(events, key=lambda item: item[:2]):
            call = calls.get(event["args"]["correlation"])
            if previous is not None and start < previous:
                problems.append(f"{event['name']} of stream {number} starts before the work before it has ended")
            if call is None:
                problems.append(f"{event['name']} has no call")
            elif start < _time(call)[0]:
                problems.append(f"{event['name']} starts before its launch")
            previous = end
    return problems


def summary(trace):
    """Length, counts, and the share of the time in which the GPU had work."""
    spans, counts = [], {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            counts[event["cat"]] = counts.get(event["cat"], 0) + 1
            if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
                spans.append(_time(event))
    times = [_time(event) for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] not in ("Trace", "overhead")]
    first, last = min(start for start, _ in times), max(end for _, end in times)
    busy, reached = 0, 0
    for start, end in sorted(spans):
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    share = 100 * busy / (last - first)
    counted = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{(last - first) / MS:8.1f} ms, GPU busy {share:5.1f} %, {counted}"
