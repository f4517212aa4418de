//! The CUDA driver, loaded at run time.

mod functions;
mod types;

pub use functions::{Function, Table};
pub use types::*;

use crate::{Error, Failure, Place};
use std::ffi::{CStr, CString, OsString, c_void};
use std::ptr::null;

/// The environment variable that names another library than `libcuda.so.1`, as tests do.
pub const VARIABLE: &str = "HOLDUP_LIBCUDA";

/// The driver's library, as programs ask for it.
const LIBRARY: &str = "libcuda.so.1";

/// The first CUDA version whose drivers take the kernels' PTX and have every function but the later ones.
pub const OLDEST: i32 = 11000;

/// A driver that is initialized. It is never unloaded.
pub struct Driver {
    /// Its functions.
    pub table: Table,
    /// The CUDA version it is for, as `cuDriverGetVersion` counts: 12040 is 12.4.
    pub version: i32,
}

impl Driver {
    /// Loads and initializes the driver.
    ///
    /// # Errors
    ///
    /// There is none, it is too old, or it finds no device.
    pub fn load() -> Result<Driver, Error> {
        let name =
            std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).unwrap_or(OsString::from(LIBRARY));
        let library = name.to_string_lossy().into_owned();
        let loaded = open(&name).map_err(|reason| {
            let reason = reason.strip_prefix(&format!("{library}: ")).unwrap_or(&reason).to_owned();
            Error::NoDriver { library: library.clone(), reason }
        })?;
        let find = |name: &str| symbol(loaded, name);
        // SAFETY: the library is the driver, or a stand-in that someone named for it.
        let table = unsafe { Table::look_up(find) };
        let table = table.map_err(|function| missing(&library, function, find("cuDriverGetVersion")))?;
        let mut driver = Driver { table, version: 0 };
        // SAFETY: writes a number; may be called before `cuInit`.
        let code = unsafe { (driver.table.driver_version)(&mut driver.version) };
        driver.done(Function::DriverVersion, code)?;
        if driver.version < OLDEST {
            return Err(too_old("holdup", OLDEST, driver.version));
        }
        // SAFETY: takes no pointer.
        driver.done(Function::Init, unsafe { (driver.table.init)(0) })?;
        Ok(driver)
    }

    /// Nothing, or the failure of a call.
    pub fn done(&self, function: Function, code: Code) -> Result<(), Error> {
        if code == SUCCESS { Ok(()) } else { Err(Error::Call(self.failure(function, code, None).into())) }
    }

    /// A call's failure, with the driver's name for it.
    pub fn failure(&self, function: Function, code: Code, place: Option<Place>) -> Failure {
        let mut text = null();
        // SAFETY: writes a pointer to a constant text.
        let known = unsafe { (self.table.error_name)(code, &mut text) } == SUCCESS && !text.is_null();
        // SAFETY: the driver's names end in zero and stay.
        let name = known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        Failure { function: function.name().to_owned(), code, name: name.unwrap_or_default(), place }
    }

    /// Error that the driver is too old for a function which it lacks.
    pub fn lacks(&self, function: Function) -> Error {
        too_old(function.name(), function.since(), self.version)
    }

    /// How many devices are visible.
    pub fn device_count(&self) -> Result<i32, Error> {
        let mut count = 0;
        // SAFETY: writes a number.
        self.done(Function::DeviceCount, unsafe { (self.table.device_count)(&mut count) })?;
        Ok(count)
    }

    /// A device by its ordinal.
    pub fn device(&self, ordinal: i32) -> Result<Device, Error> {
        let mut device = 0;
        // SAFETY: writes a number.
        self.done(Function::DeviceGet, unsafe { (self.table.device_get)(&mut device, ordinal) })?;
        Ok(device)
    }

    /// One of [`attribute`]; 0 where the driver does not know it.
    pub fn attribute(&self, device: Device, attribute: i32) -> i32 {
        let mut value = 0;
        // SAFETY: writes a number.
        let code = unsafe { (self.table.device_attribute)(&mut value, attribute, device) };
        if code == SUCCESS { value } else { 0 }
    }

    /// A device's name.
    pub fn device_name(&self, device: Device) -> Result<String, Error> {
        let mut text = [0u8; 256];
        // SAFETY: writes at most so many bytes, a zero the last of them.
        let code = unsafe { (self.table.device_name)(text.as_mut_ptr().cast(), text.len() as i32, device) };
        self.done(Function::DeviceName, code)?;
        Ok(until_zero(&text))
    }

    /// Where a device is on the PCI bus, as in `0000:3B:00.0`.
    pub fn device_pci(&self, device: Device) -> Result<String, Error> {
        let mut text = [0u8; 32];
        // SAFETY: as for the name.
        let code = unsafe { (self.table.device_pci)(text.as_mut_ptr().cast(), text.len() as i32, device) };
        self.done(Function::DevicePci, code)?;
        Ok(until_zero(&text))
    }

    /// A device's sixteen identifying bytes.
    pub fn device_uuid(&self, device: Device) -> Result<[u8; 16], Error> {
        let mut uuid = [0; 16];
        // SAFETY: writes sixteen bytes.
        self.done(Function::DeviceUuid, unsafe { (self.table.device_uuid)(&mut uuid, device) })?;
        Ok(uuid)
    }

    /// A device's memory, bytes.
    pub fn device_memory(&self, device: Device) -> Result<u64, Error> {
        let mut bytes = 0;
        // SAFETY: writes a number.
        self.done(Function::DeviceMemory, unsafe { (self.table.device_memory)(&mut bytes, device) })?;
        Ok(bytes as u64)
    }
}

/// Address that a loaded library has under a name; null if it has none.
pub fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    match CString::new(name) {
        // SAFETY: libraries stay loaded, and the name ends in zero.
        Ok(name) => unsafe { libc::dlsym(library, name.as_ptr()) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Loads a library; or what the loader says.
pub fn open(name: &OsString) -> Result<*mut c_void, String> {
    let name =
        CString::new(name.as_encoded_bytes()).map_err(|_| "the name has a zero byte in it".to_owned())?;
    // SAFETY: runs the library's constructors, as any program that uses it does; `dlerror` is this thread's.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
        if !library.is_null() {
            return Ok(library);
        }
        let reason = libc::dlerror();
        let reason = if reason.is_null() { c"unknown reason" } else { CStr::from_ptr(reason) };
        Err(reason.to_string_lossy().into_owned())
    }
}

/// An old driver lacks functions; what lacks them and says that it is new is no driver.
fn missing(library: &str, function: &str, version: *mut c_void) -> Error {
    let mut found = 0;
    if !version.is_null() {
        // SAFETY: the function of that name writes a number, in every version.
        unsafe {
            let version: unsafe extern "C" fn(*mut i32) -> Code = std::mem::transmute(version);
            version(&mut found);
        }
    }
    match found {
        1..OLDEST => too_old("holdup", OLDEST, found),
        _ => Error::NoFunction { library: library.to_owned(), function: function.to_owned() },
    }
}

fn too_old(what: &str, needed: i32, found: i32) -> Error {
    Error::DriverTooOld { what: what.to_owned(), needed, found }
}

fn until_zero(text: &[u8]) -> String {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end]).into_owned()
}
