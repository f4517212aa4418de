//! The driver's functions that are used: names, versions as exported, types.

use super::types::*;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Declares the table of functions, and a [`Function`] for each. Those behind `since` came with the
/// driver of that CUDA version and may be missing; those behind `others` are of other libraries and not in the table.
macro_rules! functions {
    (
        always { $($field:ident $name:ident $symbol:literal ($($argument:ty),*);)* }
        since { $($later_field:ident $later_name:ident $later_symbol:literal $since:literal ($($later_argument:ty),*);)* }
        others { $($other_name:ident $other_symbol:literal;)* }
    ) => {
        /// A function that threads call, for errors and records.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Function {
            $(#[doc = $symbol] $name,)*
            $(#[doc = $later_symbol] $later_name,)*
            $(#[doc = $other_symbol] $other_name,)*
        }

        impl Function {
            /// Every function, in the order of their numbers.
            pub const ALL: &'static [Function] = &[$(Function::$name,)* $(Function::$later_name,)* $(Function::$other_name,)*];

            /// As it is exported.
            pub fn symbol(self) -> &'static str {
                match self {
                    $(Function::$name => $symbol,)*
                    $(Function::$later_name => $later_symbol,)*
                    $(Function::$other_name => $other_symbol,)*
                }
            }

            /// The CUDA version whose driver has it first, as `cuDriverGetVersion` counts.
            pub fn since(self) -> i32 {
                match self {
                    $(Function::$later_name => $since,)*
                    _ => super::OLDEST,
                }
            }
        }

        /// The driver's functions. All give a `CUresult`.
        pub struct Table {
            $(#[doc = $symbol] pub $field: unsafe extern "C" fn($($argument),*) -> Code,)*
            $(#[doc = $later_symbol] pub $later_field: Option<unsafe extern "C" fn($($later_argument),*) -> Code>,)*
        }

        impl Table {
            /// The table of a library, by a look-up of symbols; otherwise the first that is missing.
            ///
            /// # Safety
            ///
            /// The result of `find` for a name is the driver's function of that name, and stays.
            pub unsafe fn look_up(find: impl Fn(&str) -> *mut c_void) -> Result<Table, &'static str> {
                // SAFETY: a pointer and an optional function pointer have one representation, null is None; the types
                // are those of cuda.h, which do not change under one exported name.
                unsafe {
                    Ok(Table {
                        $($field: std::mem::transmute::<
                            *mut c_void,
                            Option<unsafe extern "C" fn($($argument),*) -> Code>,
                        >(find($symbol)).ok_or($symbol)?,)*
                        $($later_field: std::mem::transmute::<
                            *mut c_void,
                            Option<unsafe extern "C" fn($($later_argument),*) -> Code>,
                        >(find($later_symbol)),)*
                    })
                }
            }
        }
    };
}

impl Function {
    /// Its name in cuda.h and in traces, without the version.
    pub fn name(self) -> &'static str {
        let symbol = self.symbol();
        symbol.strip_suffix("_v2").unwrap_or(symbol)
    }
}

functions! {
    always {
        init Init "cuInit" (c_uint);
        driver_version DriverVersion "cuDriverGetVersion" (*mut c_int);
        error_name ErrorName "cuGetErrorName" (Code, *mut *const c_char);
        device_count DeviceCount "cuDeviceGetCount" (*mut c_int);
        device_get DeviceGet "cuDeviceGet" (*mut Device, c_int);
        device_name DeviceName "cuDeviceGetName" (*mut c_char, c_int, Device);
        device_attribute DeviceAttribute "cuDeviceGetAttribute" (*mut c_int, c_int, Device);
        device_memory DeviceMemory "cuDeviceTotalMem_v2" (*mut usize, Device);
        device_uuid DeviceUuid "cuDeviceGetUuid" (*mut [u8; 16], Device);
        device_pci DevicePci "cuDeviceGetPCIBusId" (*mut c_char, c_int, Device);

        primary_retain PrimaryRetain "cuDevicePrimaryCtxRetain" (*mut Context, Device);
        primary_set_flags PrimarySetFlags "cuDevicePrimaryCtxSetFlags_v2" (Device, c_uint);
        context_create ContextCreate "cuCtxCreate_v2" (*mut Context, c_uint, Device);
        context_set_current ContextSetCurrent "cuCtxSetCurrent" (Context);
        context_synchronize ContextSynchronize "cuCtxSynchronize" ();
        module_load ModuleLoad "cuModuleLoadData" (*mut Module, *const c_void);
        module_kernel ModuleKernel "cuModuleGetFunction" (*mut Kernel, Module, *const c_char);
        module_unload ModuleUnload "cuModuleUnload" (Module);

        mem_alloc MemAlloc "cuMemAlloc_v2" (*mut Pointer, usize);
        mem_free MemFree "cuMemFree_v2" (Pointer);
        mem_alloc_managed MemAllocManaged "cuMemAllocManaged" (*mut Pointer, usize, c_uint);
        host_alloc HostAlloc "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
        host_free HostFree "cuMemFreeHost" (*mut c_void);
        host_register HostRegister "cuMemHostRegister_v2" (*mut c_void, usize, c_uint);
        host_unregister HostUnregister "cuMemHostUnregister" (*mut c_void);

        copy_to_device CopyToDevice "cuMemcpyHtoD_v2" (Pointer, *const c_void, usize);
        copy_to_host CopyToHost "cuMemcpyDtoH_v2" (*mut c_void, Pointer, usize);
        copy_within CopyWithin "cuMemcpyDtoD_v2" (Pointer, Pointer, usize);
        copy_to_device_async CopyToDeviceAsync "cuMemcpyHtoDAsync_v2" (Pointer, *const c_void, usize, Stream);
        copy_to_host_async CopyToHostAsync "cuMemcpyDtoHAsync_v2" (*mut c_void, Pointer, usize, Stream);
        copy_within_async CopyWithinAsync "cuMemcpyDtoDAsync_v2" (Pointer, Pointer, usize, Stream);
        copy Copy "cuMemcpy" (Pointer, Pointer, usize);
        copy_async CopyAsync "cuMemcpyAsync" (Pointer, Pointer, usize, Stream);
        copy_rows CopyRows "cuMemcpy2DAsync_v2" (*const Copy2d, Stream);
        copy_slices CopySlices "cuMemcpy3DAsync_v2" (*const Copy3d, Stream);
        fill Fill "cuMemsetD32Async" (Pointer, c_uint, usize, Stream);

        launch Launch "cuLaunchKernel"
            (Kernel, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Stream, *mut *mut c_void, *mut *mut c_void);
        stream_create StreamCreate "cuStreamCreate" (*mut Stream, c_uint);
        stream_destroy StreamDestroy "cuStreamDestroy_v2" (Stream);
        stream_query StreamQuery "cuStreamQuery" (Stream);
        stream_synchronize StreamSynchronize "cuStreamSynchronize" (Stream);
        stream_wait StreamWait "cuStreamWaitEvent" (Stream, Event, c_uint);
        event_create EventCreate "cuEventCreate" (*mut Event, c_uint);
        event_destroy EventDestroy "cuEventDestroy_v2" (Event);
        event_record EventRecord "cuEventRecord" (Event, Stream);
        event_elapsed EventElapsed "cuEventElapsedTime" (*mut f32, Event, Event);
        event_query EventQuery "cuEventQuery" (Event);
        event_synchronize EventSynchronize "cuEventSynchronize" (Event);

        capture_begin CaptureBegin "cuStreamBeginCapture_v2" (Stream, c_int);
        capture_end CaptureEnd "cuStreamEndCapture" (Stream, *mut Graph);
        graph_instantiate GraphInstantiate "cuGraphInstantiate_v2"
            (*mut GraphExec, Graph, *mut *mut c_void, *mut c_char, usize);
        graph_destroy GraphDestroy "cuGraphDestroy" (Graph);
        graph_exec_destroy GraphExecDestroy "cuGraphExecDestroy" (GraphExec);
        graph_launch GraphLaunch "cuGraphLaunch" (GraphExec, Stream);
    }
    since {
        pool_alloc PoolAlloc "cuMemAllocAsync" 11020 (*mut Pointer, usize, Stream);
        pool_free PoolFree "cuMemFreeAsync" 11020 (Pointer, Stream);
    }
    others {
        BlasNorm "cublasSnrm2_v2";
    }
}
