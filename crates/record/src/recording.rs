//! What recording needs before a program starts.

use crate::{Environment, Error, Options, Spool, capture};

/// A place for what programs record, and what their environment gets for it.
#[derive(Debug)]
pub struct Recording {
    /// Where they write.
    pub spool: Spool,
    /// What each of them is started with.
    pub environment: Environment,
}

impl Recording {
    /// Finds the capture library and makes an empty spool.
    ///
    /// # Errors
    ///
    /// There is no capture library, or no place for a spool.
    pub fn prepare(options: &Options) -> Result<Recording, Error> {
        let library = capture::find()?;
        let spool = Spool::make(&options.spool_parent)?;
        let environment = Environment::new(options, &library, spool.path());
        Ok(Recording { spool, environment })
    }
}
