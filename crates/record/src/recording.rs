//! Prepares a recording before a program starts.

use crate::{Environment, Error, Options, Spool, capture};

/// A prepared recording: its spool and the environment of its programs.
#[derive(Debug)]
pub struct Recording {
    /// The spool that the programs write to.
    pub spool: Spool,
    /// The changes to each program's environment.
    pub environment: Environment,
}

impl Recording {
    /// Finds the capture library and creates an empty spool.
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
