//! The arguments of each kernel.

use super::surroundings::Surroundings;
use crate::error::Checked;
use crate::model::*;

/// The side of the matrix product's tiles.
const TILE: u32 = 32;

/// The elements that one thread adds to at once (seed 000's `int4`).
const AT_ONCE: u32 = 4;

/// Checks a kernel's arguments.
pub fn check(here: &Surroundings<'_, '_>, kernel: &Kernel, grid: u32, block: u32) -> Checked {
    match *kernel {
        Kernel::Empty | Kernel::Delay { .. } => Ok(()),
        Kernel::AddConstant { from, to, value, length, .. } => {
            let last = here.last(value)?;
            if !length.is_multiple_of(AT_ONCE) {
                return here.fail(format!(
                    "adds to {length} elements, {AT_ONCE} at once: use a multiple of {AT_ONCE}"
                ));
            }
            if last > u32::MAX.into() {
                let round = here.in_round(value);
                return here.fail(format!("adds {last}{round} to 32-bit integers: add less"));
            }
            elements(here, from, length.into())?;
            elements(here, to, length.into())
        }
        Kernel::Increment { buffer, offset, length, .. } => {
            elements(here, buffer, here.last(offset)? + u128::from(length))
        }
        Kernel::MatrixProduct { a, b, c, rows, inner, columns } => {
            tiles(here, rows, inner, columns, grid, block)?;
            elements(here, a, product(rows, inner))?;
            elements(here, b, product(inner, columns))?;
            elements(here, c, product(rows, columns))
        }
        Kernel::NormPartial { from, partial, length } => {
            elements(here, from, length.into())?;
            elements(here, partial, grid.into())
        }
        Kernel::NormFinal { partial, to, length } => {
            if grid != 1 {
                return here.fail(format!("a norm's second stage in {grid} blocks: launch it as one"));
            }
            elements(here, partial, length.into())?;
            elements(here, to, 1)
        }
        Kernel::Scale { buffer, length, by } => {
            elements(here, buffer, length.into())?;
            scalar(here, by)
        }
    }
}

/// Checks the arguments of a norm of cuBLAS, whose lengths have 31 bits.
pub fn blas_norm(here: &Surroundings<'_, '_>, from: BufferId, to: BufferId, length: u32) -> Checked {
    if i32::try_from(length).is_err() {
        let most = i32::MAX;
        return here.fail(format!("a norm of {length} floats: cuBLAS takes {most} at most"));
    }
    elements(here, from, length.into())?;
    scalar(here, to)
}

/// Checks that the buffer has one element, on either side.
fn scalar(here: &Surroundings<'_, '_>, buffer: BufferId) -> Checked {
    if here.buffer(buffer).memory.is_host() { room(here, buffer, 1) } else { elements(here, buffer, 1) }
}

/// Checks that the device reaches the buffer, and that it has so many elements of 32 bits.
fn elements(here: &Surroundings<'_, '_>, buffer: BufferId, count: u128) -> Checked {
    here.on_device(buffer)?;
    room(here, buffer, count)
}

fn room(here: &Surroundings<'_, '_>, id: BufferId, count: u128) -> Checked {
    let buffer = here.buffer(id);
    let bytes = count * 4;
    if bytes > u128::from(buffer.bytes) {
        return here.fail(format!(
            "needs {bytes} bytes of buffer {:?}, which has {}: work on fewer elements or make it larger",
            buffer.name, buffer.bytes
        ));
    }
    Ok(())
}

/// Checks that the sides of a matrix product are whole tiles, and that its launch has one block per tile of the result and one
/// thread per element of a tile.
fn tiles(here: &Surroundings<'_, '_>, rows: u32, inner: u32, columns: u32, grid: u32, block: u32) -> Checked {
    for (side, name) in [(rows, "rows"), (inner, "inner"), (columns, "columns")] {
        if side == 0 || !side.is_multiple_of(TILE) {
            return here.fail(format!("{name} of {side}: use a multiple of {TILE}"));
        }
    }
    let tiles = product(rows / TILE, columns / TILE);
    if u128::from(grid) != tiles || block != TILE * TILE {
        let threads = TILE * TILE;
        return here.fail(format!(
            "a product of {tiles} tiles in {grid} blocks of {block} threads: launch {tiles} blocks of {threads}"
        ));
    }
    Ok(())
}

fn product(a: u32, b: u32) -> u128 {
    u128::from(a) * u128::from(b)
}
