//! One set of names, for all tools, of the time that a tracer or the driver uses for itself.

/// Kineto's names of CUPTI's overhead kinds.
const NAMES: [&str; 10] = [
    "Unknown",
    "Driver Compiler",
    "Buffer Flush",
    "Instrumentation",
    "Resource",
    "Runtime Triggered Module Loading",
    "Lazy Function Loading",
    "Command Buffer Full",
    "Activity Buffer Request",
    "UVM Activity Init",
];

/// The name of a value of CUPTI's own enumeration, which keeps its later kinds in the high half.
pub(crate) fn cupti(kind: i64) -> &'static str {
    known_cupti(kind).unwrap_or(NAMES[0])
}

/// Like [`cupti`]; `None` for a value that is none of them.
pub(crate) fn known_cupti(kind: i64) -> Option<&'static str> {
    match kind {
        0 | 1 => Some(NAMES[kind as usize]),
        _ if kind & 0xffff == 0 && (1..=8).contains(&(kind >> 16)) => Some(NAMES[(kind >> 16) as usize + 1]),
        _ => None,
    }
}

/// The name of a value of Nsight Systems' enumeration.
pub(crate) fn nsys(kind: i64) -> &'static str {
    match kind {
        2..=8 => NAMES[kind as usize - 1],
        _ => NAMES[0],
    }
}

/// The name of an overhead that Nsight Systems writes as text; kinds of its own keep their names.
pub(crate) fn nsys_text(text: &str) -> &str {
    let cupti = text.strip_prefix("CUPTI").map(|rest| rest.trim_start_matches([':', ' ']));
    match cupti {
        Some("Buffer flush") => NAMES[2],
        Some("Instrumentation") => NAMES[3],
        Some("Resource Management") => NAMES[4],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_spellings_one_name() {
        for name in
            [cupti(1 << 16), nsys(3), nsys_text("CUPTI: Buffer flush"), nsys_text("CUPTI Buffer flush")]
        {
            assert_eq!(name, "Buffer Flush");
        }
        for name in [cupti(5 << 16), nsys(7)] {
            assert_eq!(name, "Lazy Function Loading");
        }
        assert_eq!((cupti(1), nsys(2)), ("Driver Compiler", "Driver Compiler"));
        assert_eq!((cupti(8 << 16), cupti(9 << 16), cupti(-1)), ("UVM Activity Init", "Unknown", "Unknown"));
        assert_eq!(nsys_text("CUDA profiling data flush"), "CUDA profiling data flush");
    }
}
