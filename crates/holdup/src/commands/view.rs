//! `holdup view`

use super::explain;
use crate::args::{Gains, View};
use crate::failure::{Failure, operating_system};
use crate::{input, output, time};
use page::serve::Server;
use std::process::{Command, ExitCode, Stdio};

/// Serves a trace's page until the process is interrupted.
pub fn run(arguments: &View) -> Result<ExitCode, Failure> {
    let filter = arguments.filter.selection();
    time::check(&filter)?;
    let (path, min_wait) = (&arguments.trace, arguments.min_wait);
    let trace = input::read_part(path, &filter)?;
    let (page, _) = explain::page(trace, path, min_wait, &filter, false, Gains::Auto);
    let mut bytes = Vec::new();
    page.write(&mut bytes)?;
    drop(page);
    let server = Server::new(bytes, arguments.port).map_err(|error| {
        let port = if arguments.port == 0 { "a port".to_owned() } else { format!("port {}", arguments.port) };
        Failure::Message(format!("cannot serve on {port} of 127.0.0.1: {}", operating_system(&error)))
    })?;
    let address = server.address();
    output::print(&format!("{address}   (Ctrl-C ends it)\n"))?;
    if arguments.open {
        open(&address);
    }
    server.run().map_err(|error| {
        Failure::Message(format!("{address} can no longer be served: {}", operating_system(&error)))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Asks the desktop to open the page; the address is on the terminal anyway.
fn open(address: &str) {
    let quiet = || Stdio::null();
    let opened = Command::new("xdg-open").arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Err(error) = opened {
        eprintln!("holdup: xdg-open: {}: open the address yourself", operating_system(&error));
    }
}
