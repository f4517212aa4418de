//! The copy of CUPTI whose client this library is.

use super::library::Cupti;
use interpose::SetOnce;
use std::sync::atomic::AtomicBool;

/// Its functions.
pub static CUPTI: SetOnce<Cupti> = SetOnce::new();
/// Records come in.
pub static ON: AtomicBool = AtomicBool::new(false);
