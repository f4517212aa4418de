//! Processes of the program that could not make their file: they say so themselves.

use spool::Refused;
use std::collections::BTreeMap;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// The kernel keeps this many messages at least (`net.unix.max_dgram_qlen`), and drops what comes then.
const MOST: usize = 10;

/// The socket that they write to, from before the program starts.
pub(crate) struct Ear(Option<UnixDatagram>);

impl Ear {
    /// The socket of a spool. Without one, nothing is heard.
    pub fn of(spool: &Path) -> Ear {
        let name = Refused::socket(spool.as_os_str().as_bytes());
        let socket = SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name));
        Ear(socket.and_then(|socket| socket.set_nonblocking(true).map(|()| socket)).ok())
    }

    /// All processes that were refused until now.
    pub fn heard(&self) -> Vec<Refused> {
        let mut room = [0; Refused::SIZE + 1];
        let next =
            || self.0.as_ref()?.recv(&mut room).ok().map(|length| Refused::from_bytes(&room[..length]));
        std::iter::from_fn(next).flatten().collect()
    }
}

/// A line for each user and reason.
pub(crate) fn notes(refused: &[Refused]) -> Vec<String> {
    let mut reasons = BTreeMap::<(u32, u32), Vec<libc::pid_t>>::new();
    for one in refused {
        reasons.entry((one.user, one.error)).or_default().push(one.pid.cast_signed());
    }
    // SAFETY: only returns a number.
    let own = unsafe { libc::geteuid() };
    let least = if refused.len() >= MOST { "at least " } else { "" };
    let line = |((user, error), pids): ((u32, u32), Vec<libc::pid_t>)| {
        let who = match pids.as_slice() {
            [pid] => format!("process {pid} was"),
            several => format!("{least}{} processes ({}) were", several.len(), crate::run::shown(several)),
        };
        let why = match user == own {
            true => format!(
                "the folder of records could not be written to: {}",
                crate::error::said(&io::Error::from_raw_os_error(error.cast_signed()))
            ),
            false => format!("user {user} may not write to this recording: start holdup record as that user"),
        };
        format!("{who} not recorded: {why}")
    };
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_named_by_user_and_reason() {
        // SAFETY: only returns a number.
        let own = unsafe { libc::geteuid() };
        let of = |pid, user, error| Refused { pid, user, error: error as u32 };
        let other = own ^ 1;
        let refused = [of(7, own, libc::ENOENT), of(8, other, libc::EACCES), of(9, other, libc::EACCES)];
        let mut found = notes(&refused);
        found.sort();
        let expected = [
            format!("2 processes (8, 9) were not recorded: user {other} may not write to this recording: start holdup record as that user"),
            "process 7 was not recorded: the folder of records could not be written to: No such file or directory".to_owned(),
        ];
        assert_eq!(found, expected);
        let many: Vec<Refused> = (0..11).map(|pid| of(pid, other, libc::EACCES)).collect();
        assert!(
            notes(&many)[0].starts_with("at least 11 processes (0, 1, 2, 3, 4 and 6 more) were"),
            "{:?}",
            notes(&many)
        );
    }

    #[test]
    fn what_is_sent_is_heard_once() {
        let folder = tempfile::tempdir().expect("can create");
        let ear = Ear::of(folder.path());
        let name = Refused::socket(folder.path().as_os_str().as_bytes());
        let address = SocketAddr::from_abstract_name(name).expect("it fits");
        let sender = UnixDatagram::unbound().expect("a socket");
        let refused = Refused { pid: 1, user: 2, error: 3 };
        for message in [&refused.to_bytes()[..], b"not ours", &[0; 40]] {
            sender.send_to_addr(message, &address).expect("somebody listens");
        }
        assert_eq!((ear.heard(), ear.heard()), (vec![refused], vec![]));
    }
}
