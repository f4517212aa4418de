//! Programs that the capture library can be loaded into: those for its own processor, with glibc's loader.

/// How the file names of glibc's loaders begin. `ld-2.31.so` is the file behind the name in older versions.
const OF_GLIBC: [&[u8]; 4] = [b"ld-linux", b"ld64.so", b"ld-2.", b"ld.so"];
/// A C library with loaders of the same names.
const UCLIBC: &[u8] = b"uClibc";

/// The class of files of 64 bits, and the number of this processor: `elf(5)`.
const CLASS: u8 = 2;
const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// Whether a loader's path, as an ELF file names it, is of glibc.
pub fn is_loader_of_glibc(path: &[u8]) -> bool {
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    OF_GLIBC.iter().any(|start| name.starts_with(start))
        && !name.windows(UCLIBC.len()).any(|part| part == UCLIBC)
}

/// Whether an ELF file is for this processor, by its first bytes; `None` if they are of no ELF file.
pub fn is_for_this_processor(head: &[u8]) -> Option<bool> {
    let class = head.strip_prefix(b"\x7fELF")?.first()?;
    let machine = head.get(18..20)?.try_into().ok()?;
    Some(*class == CLASS && u16::from_le_bytes(machine) == MACHINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_of_glibc_and_others() {
        for loader in
            ["/lib64/ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1\0", "ld64.so.2", "ld-2.31.so", "ld.so"]
        {
            assert!(is_loader_of_glibc(loader.as_bytes()), "{loader}");
        }
        for loader in ["/lib/ld-musl-x86_64.so.1", "libc.so", "ld64-uClibc.so.1", "ld.so/linker64", ""] {
            assert!(!is_loader_of_glibc(loader.as_bytes()), "{loader}");
        }
    }

    #[test]
    fn a_file_says_which_processor_it_is_for() {
        let head = |class: u8, machine: u16| {
            let mut head = [0; 20];
            head[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
            head[18..].copy_from_slice(&machine.to_le_bytes());
            head
        };
        assert_eq!(is_for_this_processor(&head(CLASS, MACHINE)), Some(true));
        // Of 32 bits; for both at once, as x32; for another.
        for (class, machine) in [(1, 3), (1, MACHINE), (CLASS, 243)] {
            assert_eq!(is_for_this_processor(&head(class, machine)), Some(false));
        }
        assert_eq!(is_for_this_processor(b"#!/bin/sh of twenty bytes"), None);
        assert_eq!(is_for_this_processor(&head(CLASS, MACHINE)[..19]), None);
    }
}
