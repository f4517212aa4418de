//! Serves one page to the browsers of this machine, at an address that cannot be guessed.
//!
//! It supports only the needed part of HTTP: `GET`, one path, one answer per connection. Any other request gets 404,
//! which reveals nothing. The requested host must be this machine's own, so that a web site cannot reach the page by
//! giving its own name this address.

use crate::template;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Number of connections that are answered at a time; further ones are closed.
const MOST_CONNECTIONS: usize = 32;

/// A request's line and headers together, bytes. Browsers send about one kilobyte.
const LONGEST_REQUEST: usize = 16 << 10;

/// Number of headers that a request may have. Browsers send about fifteen.
const MOST_HEADERS: usize = 64;

/// How long a connection may take to send its request, or to receive each piece of its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A page that is ready to be served.
pub struct Server {
    listener: TcpListener,
    site: Arc<Site>,
}

/// The page that is served, and its address.
struct Site {
    /// `/TOKEN/`
    path: String,
    port: u16,
    page: Vec<u8>,
}

impl Server {
    /// Opens a port of 127.0.0.1, any free one for 0, to serve `page` there.
    ///
    /// # Errors
    /// If the port is in use, or the operating system has no randomness.
    pub fn new(page: Vec<u8>, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        Ok(Server { listener, site: Arc::new(Site { path: format!("/{}/", token()?), port, page }) })
    }

    /// The page's address.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.site.port, self.site.path)
    }

    /// Serves the page until the process ends.
    ///
    /// # Errors
    /// If no further connection can be accepted.
    pub fn run(self) -> io::Result<()> {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let connection = match self.listener.accept() {
                Ok((connection, _)) => connection,
                // A client that closed its connection early is no reason to stop.
                Err(error) if is_theirs(&error) => continue,
                Err(error) => return Err(error),
            };
            let guest = Guest::new(&open);
            if open.load(Ordering::Relaxed) > MOST_CONNECTIONS {
                continue;
            }
            let site = Arc::clone(&self.site);
            // If no thread can be started, the connection is closed; the next one may succeed.
            let _ = thread::Builder::new().name("guest".into()).spawn(move || {
                let _guest = guest;
                let _ = site.answer(connection);
            });
        }
    }
}

/// Counts a connection while it is open.
struct Guest(Arc<AtomicUsize>);

impl Guest {
    fn new(open: &Arc<AtomicUsize>) -> Guest {
        open.fetch_add(1, Ordering::Relaxed);
        Guest(Arc::clone(open))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn is_theirs(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

impl Site {
    fn answer(&self, mut connection: TcpStream) -> io::Result<()> {
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        let (status, body): (_, &[u8]) = match Request::read(&connection) {
            Some(request) if self.serves(&request) => ("200 OK", &self.page),
            _ => ("404 Not Found", b"<!doctype html><title>404</title>"),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Content-Security-Policy: {}; frame-ancestors 'none'\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
            body.len(),
            template::policy(),
        );
        connection.write_all(head.as_bytes())?;
        connection.write_all(body)?;
        connection.flush()
    }

    fn serves(&self, request: &Request) -> bool {
        let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let host_is_own = request.hosts.len() == 1 && own.contains(&request.hosts[0]);
        request.method == "GET" && host_is_own && same(request.path.as_bytes(), self.path.as_bytes())
    }
}

/// Whether two texts are equal, in a time that depends only on their lengths.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

/// The checked parts of a request.
struct Request {
    method: String,
    path: String,
    hosts: Vec<String>,
}

impl Request {
    /// Reads a request up to its empty line; `None` if it is not a request, or longer than [`LONGEST_REQUEST`].
    fn read(mut from: impl Read) -> Option<Request> {
        let mut bytes = [0; LONGEST_REQUEST];
        let mut length = 0;
        loop {
            let count = from.read(&mut bytes[length..]).ok().filter(|count| *count > 0)?;
            length += count;
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut request = httparse::Request::new(&mut headers);
            if request.parse(&bytes[..length]).ok()?.is_complete() {
                let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_ascii_lowercase();
                let hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
                return Some(Request {
                    method: request.method?.to_owned(),
                    path: request.path?.to_owned(),
                    hosts: hosts.map(|header| text(header.value)).collect(),
                });
            }
        }
    }
}

/// 128 random bits in hexadecimal.
fn token() -> io::Result<String> {
    let mut random = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a server on a free port and returns its port and path. It ends with the test's process.
    fn serve(page: &[u8]) -> (u16, String) {
        let server = Server::new(page.to_vec(), 0).unwrap();
        let address = server.address();
        let (port, path) = (server.site.port, server.site.path.clone());
        assert_eq!(address, format!("http://127.0.0.1:{port}{path}"));
        thread::spawn(move || server.run());
        (port, path)
    }

    fn ask(port: u16, request: &str) -> String {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_page_is_served_at_its_address() {
        let (port, path) = serve(b"<p>the page</p>");
        for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("LOCALHOST:{port}")] {
            let answer = ask(port, &format!("GET {path} HTTP/1.1\r\nAccept: */*\r\nHost: {host}\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.ends_with("\r\n\r\n<p>the page</p>"), "{answer}");
            for header in [
                "Content-Security-Policy: default-src 'none'; script-src 'sha256-",
                "Cache-Control: no-store\r\n",
                "X-Content-Type-Options: nosniff\r\n",
                "Content-Length: 15\r\n",
            ] {
                assert!(answer.contains(header), "{header}");
            }
        }
    }

    #[test]
    fn any_other_request_gets_404() {
        let (port, path) = serve(b"secret");
        let own = format!("Host: 127.0.0.1:{port}");
        let wrong = format!("{}0/", &path[..path.len() - 2]);
        let other = if wrong == path { path.replace("0/", "1/") } else { wrong };
        let requests = [
            "GET / HTTP/1.1\r\nHOST\r\n\r\n".replace("HOST", &own),
            format!("GET {other} HTTP/1.1\r\n{own}\r\n\r\n"),
            format!("GET {} HTTP/1.1\r\n{own}\r\n\r\n", path.trim_end_matches('/')),
            format!("GET {path}x HTTP/1.1\r\n{own}\r\n\r\n"),
            format!("GET {path}?a HTTP/1.1\r\n{own}\r\n\r\n"),
            format!("GET http://127.0.0.1:{port}{path} HTTP/1.1\r\n{own}\r\n\r\n"),
            format!("POST {path} HTTP/1.1\r\n{own}\r\n\r\n"),
            format!("HEAD {path} HTTP/1.1\r\n{own}\r\n\r\n"),
            format!("GET {path} HTTP/1.1\r\n\r\n"),
            format!("GET {path} HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n"),
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
            format!("GET {path} HTTP/1.1\r\n{own}\r\nHost: evil.example\r\n\r\n"),
            format!("GET {path} HTTP/1.1 more\r\n{own}\r\n\r\n"),
            format!("GET {path}\r\n{own}\r\n\r\n"),
            format!("\u{0}\u{1}\r\n{own}\r\n\r\n"),
        ];
        for request in requests {
            let answer = ask(port, &request);
            assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n"), "{request:?}: {answer}");
            assert!(!answer.contains("secret"), "{request:?}");
        }
    }

    #[test]
    fn endless_requests_end() {
        let (port, _) = serve(b"secret");
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        // The server stops reading, so writing or reading fails eventually.
        let piece = [b'x'; 4096];
        let sent = (0..10_000).take_while(|_| connection.write_all(&piece).is_ok()).count();
        assert!(sent < 10_000, "took 40 MB of a request");
        let (port, path) = serve(b"still there");
        let answer = ask(port, &format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
        assert!(answer.ends_with("still there"));
    }

    #[test]
    fn addresses_differ() {
        let tokens: std::collections::BTreeSet<String> = (0..100).map(|_| token().unwrap()).collect();
        assert!(tokens.len() == 100 && tokens.iter().all(|token| token.len() == 32));
    }
}
