//! A process that cannot make its file tells the recorder so: it may run as a user who may not write to the folder. It sends one
//! [`Refused`] to an abstract socket, which any process of the network namespace reaches; where it reaches none, nobody is told.

/// Longest name of an abstract socket, bytes, without the zero byte before it.
const LONGEST: usize = 107;

/// A process that is not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Refused {
    /// Its id.
    pub pid: u32,
    /// Its effective user.
    pub user: u32,
    /// The system's error number.
    pub error: u32,
}

impl Refused {
    /// Bytes of a message.
    pub const SIZE: usize = 12;

    /// The name of the socket of the recorder whose spool is at `directory`.
    pub fn socket(directory: &[u8]) -> &[u8] {
        // The end of the path is what no other recording has.
        directory.get(directory.len().saturating_sub(LONGEST)..).unwrap_or_default()
    }

    /// As a message.
    pub fn to_bytes(self) -> [u8; Refused::SIZE] {
        let [pid, user, error] = [self.pid, self.user, self.error].map(u32::to_ne_bytes);
        let mut bytes = [0; Refused::SIZE];
        let parts = bytes.iter_mut().zip(pid.into_iter().chain(user).chain(error));
        parts.for_each(|(to, from)| *to = from);
        bytes
    }

    /// A message's; `None` if it is of another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Refused> {
        let bytes: &[u8; Refused::SIZE] = bytes.try_into().ok()?;
        let number = |at: usize| bytes.get(at..)?.first_chunk().map(|part| u32::from_ne_bytes(*part));
        Some(Refused { pid: number(0)?, user: number(4)?, error: number(8)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_what_was_sent() {
        let refused = Refused { pid: 4242, user: 65534, error: 13 };
        assert_eq!(Refused::from_bytes(&refused.to_bytes()), Some(refused));
        assert_eq!(Refused::from_bytes(&[0; 11]), None);
    }

    #[test]
    fn a_long_path_has_a_name_that_fits() {
        assert_eq!(Refused::socket(b"/tmp/holdup-a.spool"), b"/tmp/holdup-a.spool");
        let long = [&[b'/'; 300][..], b"holdup-a.spool"].concat();
        let name = Refused::socket(&long);
        assert!(name.len() == LONGEST && name.ends_with(b"holdup-a.spool"));
    }
}
