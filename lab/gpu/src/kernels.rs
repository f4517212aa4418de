//! The built-in kernels: their code, and what the driver is passed to launch one.

use std::ffi::{CStr, c_void};
use workload::{BufferId, Kernel, Number};

/// The kernels' code, for any device since compute capability 5.2 and any driver since CUDA 11.0; ends in a zero byte.
/// `kernels/make.py` makes it of `kernels/kernels.cu`.
const PTX: &str = concat!(include_str!("../kernels/kernels.ptx"), "\0");

/// Image that `cuModuleLoadData` takes.
pub fn image() -> *const c_void {
    PTX.as_ptr().cast()
}

/// A kernel of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Code {
    Empty,
    Delay,
    AddConstant,
    Increment,
    MatrixProduct,
    NormPartial,
    NormFinal,
    ScaleByDevice,
    ScaleByHost,
}

impl Code {
    /// All of them, in the order of their numbers.
    pub const ALL: [Code; 9] = [
        Code::Empty,
        Code::Delay,
        Code::AddConstant,
        Code::Increment,
        Code::MatrixProduct,
        Code::NormPartial,
        Code::NormFinal,
        Code::ScaleByDevice,
        Code::ScaleByHost,
    ];

    /// Its name in the image.
    pub fn entry(self) -> &'static CStr {
        match self {
            Code::Empty => c"holdup_empty",
            Code::Delay => c"holdup_delay",
            Code::AddConstant => c"holdup_add_constant",
            Code::Increment => c"holdup_increment",
            Code::MatrixProduct => c"holdup_matrix_product",
            Code::NormPartial => c"holdup_norm_partial",
            Code::NormFinal => c"holdup_norm_final",
            Code::ScaleByDevice => c"holdup_scale_by_device",
            Code::ScaleByHost => c"holdup_scale_by_host",
        }
    }
}

/// One argument of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Argument {
    /// The address of a buffer.
    Buffer(BufferId),
    /// Value at the start of a host buffer when the kernel is launched: a float.
    OnHost(BufferId),
    /// A number of 32 or 64 bits; the driver takes as many as the kernel has.
    Number(Number),
}

/// A kernel's code and arguments.
pub fn prepare(kernel: &Kernel, is_host: impl Fn(BufferId) -> bool) -> (Code, Vec<Argument>) {
    use Argument::{Buffer, Number as Changing, OnHost};
    let number = |number: u32| Argument::Number(Number::Is(number.into()));
    match *kernel {
        Kernel::Empty => (Code::Empty, vec![]),
        Kernel::Delay { cycles } => (Code::Delay, vec![Changing(Number::Is(cycles))]),
        Kernel::AddConstant { from, to, value, length, rounds } => {
            // Four elements at a time.
            let numbers = [Changing(value), number(length / 4), number(rounds)];
            (Code::AddConstant, [&[Buffer(from), Buffer(to)], &numbers[..]].concat())
        }
        Kernel::Increment { buffer, offset, length, rounds } => {
            (Code::Increment, vec![Buffer(buffer), Changing(offset), number(length), number(rounds)])
        }
        Kernel::MatrixProduct { a, b, c, rows: _, inner, columns } => {
            (Code::MatrixProduct, vec![Buffer(a), Buffer(b), Buffer(c), number(inner), number(columns)])
        }
        Kernel::NormPartial { from, partial, length } => {
            (Code::NormPartial, vec![Buffer(from), Buffer(partial), number(length)])
        }
        Kernel::NormFinal { partial, to, length } => {
            (Code::NormFinal, vec![Buffer(partial), Buffer(to), number(length)])
        }
        Kernel::Scale { buffer, length, by } => match is_host(by) {
            true => (Code::ScaleByHost, vec![Buffer(buffer), number(length), OnHost(by)]),
            false => (Code::ScaleByDevice, vec![Buffer(buffer), number(length), Buffer(by)]),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many parameters the image's kernels have, and whether each has 64 bits.
    fn parameters(code: Code) -> Vec<bool> {
        let name = code.entry().to_str().expect("ASCII");
        let start = PTX.find(&format!(".entry {name}(")).expect("the image has it");
        let head = &PTX[start..start + PTX[start..].find(')').expect("it ends")];
        let lines = head.lines().filter(|line| line.trim_start().starts_with(".param"));
        lines.map(|line| line.contains(".u64")).collect()
    }

    fn every_kernel() -> Vec<Kernel> {
        let [a, b, c] = [0, 1, 2].map(BufferId);
        let index = Number::Index { first: 0, each: 1 };
        vec![
            Kernel::Empty,
            Kernel::Delay { cycles: 1 },
            Kernel::AddConstant { from: a, to: b, value: index, length: 4, rounds: 1 },
            Kernel::Increment { buffer: a, offset: index, length: 1, rounds: 1 },
            Kernel::MatrixProduct { a, b, c, rows: 64, inner: 32, columns: 96 },
            Kernel::NormPartial { from: a, partial: b, length: 5 },
            Kernel::NormFinal { partial: b, to: c, length: 2 },
            Kernel::Scale { buffer: a, length: 1, by: b },
            Kernel::Scale { buffer: a, length: 1, by: c },
        ]
    }

    #[test]
    fn kernels_get_the_arguments_of_their_code() {
        let mut seen = Vec::new();
        for kernel in every_kernel() {
            let (code, arguments) = prepare(&kernel, |buffer| buffer == BufferId(2));
            let wide = parameters(code);
            assert_eq!(arguments.len(), wide.len(), "{code:?}");
            for (argument, wide) in arguments.iter().zip(wide) {
                assert!(!matches!(argument, Argument::Buffer(_)) || wide, "{code:?}: {argument:?} is cut");
            }
            seen.push(code);
        }
        assert_eq!(seen, Code::ALL);
    }

    #[test]
    fn the_image_is_for_old_drivers_and_devices() {
        assert!(PTX.contains("\n.version 7.0\n") && PTX.contains("\n.target sm_52\n"));
    }
}
