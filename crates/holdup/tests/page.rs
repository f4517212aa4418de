//! `explain --format html` and `view` as a shell sees them. What a browser makes of the page is tested in
//! `crates/page/web/tests`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

fn holdup(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    holdup(arguments).output().expect("the program starts")
}

fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// A sentence of the text report.
fn said(trace: &str, id: &str) -> String {
    let output = run(&["explain", trace]);
    let mut lines = text(&output.stdout).lines().skip_while(|line| !line.starts_with(id));
    let sentence = lines.nth(1).expect("is a finding").trim_start();
    sentence.split("; longest").next().unwrap_or_default().to_owned()
}

/// Text of an HTML page, tags away.
fn spoken(page: &str) -> String {
    let pieces = page.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    pieces.collect::<String>().replace("&#39;", "'")
}

#[test]
fn the_page_has_the_words_of_the_text() {
    let trace = example("recorded-d2h-stall.holdup");
    let output = run(&["explain", &trace, "--format", "html"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.starts_with("<!doctype html>"));
    let spoken = spoken(page);
    let sentence = said(&trace, "H1");
    assert!(sentence.contains(" lost "), "{sentence}");
    assert!(spoken.contains(&format!("H1 {sentence}")), "{sentence}");
    assert!(spoken.contains("give each thread its own stream"));
    assert!(spoken.contains("the holder's calls cover 99.9 % of that time"));
    let again = run(&["explain", &trace, "--format", "html"]);
    assert_eq!(again.stdout, output.stdout, "the same trace, the same page");
}

#[test]
fn a_page_goes_into_a_file_that_is_not_replaced_unasked() {
    let directory = tempfile::tempdir().expect("can create");
    let file = directory.path().join("report.html");
    let (trace, file_name) = (example("pytorch-free-waits.json.gz"), file.to_str().expect("UTF-8"));
    let arguments = ["explain", &trace, "--format", "html", "-o", file_name];
    let first = run(&arguments);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let said = text(&first.stdout);
    assert!(said.starts_with(file_name) && said.ends_with(" kB\n"), "{said}");
    let written = std::fs::read(&file).expect("is there");
    assert!(written.starts_with(b"<!doctype html>"));
    let second = run(&arguments);
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second.stderr).contains("already exists"), "{}", text(&second.stderr));
    let forced = run(&[&arguments[..], &["--force"]].concat());
    assert!(forced.status.success());
    assert_eq!(std::fs::read(&file).expect("is there"), written);
}

#[test]
fn other_forms_go_into_files_too() {
    let directory = tempfile::tempdir().expect("can create");
    let trace = example("pytorch-free-waits.json.gz");
    for form in ["text", "json", "markdown"] {
        let file = directory.path().join(form);
        let file_name = file.to_str().expect("UTF-8");
        let output = run(&["explain", &trace, "--format", form, "-o", file_name]);
        assert!(output.status.success() && output.stdout.is_empty(), "{form}");
        let shown = run(&["explain", &trace, "--format", form]);
        assert_eq!(std::fs::read(&file).expect("is there"), shown.stdout, "{form}");
    }
}

#[test]
fn a_page_is_of_one_trace() {
    let trace = example("pytorch-free-waits.json.gz");
    let output = run(&["explain", &trace, &trace, "--format", "html"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(text(&output.stderr).contains("a page of one trace"), "{}", text(&output.stderr));
}

#[test]
fn the_chosen_time_is_all_that_is_shown() {
    let trace = example("recorded-d2h-stall.holdup");
    let whole = run(&["explain", &trace, "--format", "html"]).stdout;
    let part = run(&["explain", &trace, "--format", "html", "--from", "1.5s", "--to", "1.6s"]).stdout;
    assert!(part.len() < whole.len(), "{} < {}", part.len(), whole.len());
    assert!(spoken(text(&part)).contains("1.504"), "the stall in that time is in a table");
    assert!(!spoken(text(&part)).contains("0.836971"), "an earlier one is not");
}

/// Ends the server with the test, whatever becomes of it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn view_serves_the_page_at_the_address_it_says() {
    let trace = example("pytorch-free-waits.json.gz");
    let mut server = Server(holdup(&["view", &trace]).stdout(Stdio::piped()).spawn().expect("starts"));
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().expect("piped")).read_line(&mut line).expect("says something");
    let address = line.split_whitespace().next().expect("an address");
    let rest = address.strip_prefix("http://127.0.0.1:").expect("on this machine");
    let (port, path) = rest.split_once('/').expect("with a path");
    let ask = |path: &str| {
        let mut connection = TcpStream::connect(format!("127.0.0.1:{port}")).expect("listens");
        let request = format!("GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        connection.write_all(request.as_bytes()).expect("takes a request");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("answers");
        answer
    };
    let answer = ask(path);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    let page = answer.split_once("\r\n\r\n").expect("has a body").1;
    let file = run(&["explain", &trace, "--format", "html"]).stdout;
    assert_eq!(page, text(&file), "the page that explain writes");
    assert!(ask("").starts_with("HTTP/1.1 404 "));
}

#[test]
fn view_refuses_what_it_cannot_read_before_it_serves() {
    let output = run(&["view", "/nowhere/trace.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(text(&output.stderr).contains("No such file or directory: check the name"));
}
