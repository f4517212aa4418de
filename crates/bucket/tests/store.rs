//! A stand-in for an object store, on this machine alone: what is put there arrives, and what goes wrong is one line.

use bucket::{Access, BucketError, Folder};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What the store has, by path.
type Objects = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A store that answers so many requests and then ends: the first ones of `put` with these statuses.
struct Store {
    address: String,
    objects: Objects,
    thread: std::thread::JoinHandle<Vec<String>>,
}

impl Store {
    fn new(requests: usize, refusals: &[u16]) -> Store {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("bound"));
        let (objects, refusals) = (Objects::default(), refusals.to_vec());
        let into = objects.clone();
        let thread = std::thread::spawn(move || {
            let mut refusals = refusals.into_iter();
            (0..requests)
                .map(|_| answer(&listener.accept().expect("a client").0, &into, &mut refusals))
                .collect()
        });
        Store { address, objects, thread }
    }

    fn access(&self) -> Access {
        Access {
            key: String::from("key"),
            secret: String::from("hidden"),
            region: String::from("eu-west-1"),
            endpoint: Some(self.address.clone()),
            token: None,
        }
    }
}

/// Answers one request; returns its first line.
fn answer(stream: &TcpStream, objects: &Objects, refusals: &mut impl Iterator<Item = u16>) -> String {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).expect("a request");
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
    let path = first.split([' ', '?']).nth(1).expect("a path").to_owned();
    let status = match first.starts_with("PUT") {
        true => refusals.next().unwrap_or(200),
        false if path.starts_with("/missing") => 404,
        false => 200,
    };
    if first.starts_with("PUT") && status == 200 {
        objects.lock().expect("whole").insert(path, body);
    }
    write!(&mut &*stream, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .expect("sent");
    first
}

#[test]
fn what_is_put_into_a_folder_arrives_signed() {
    let store = Store::new(2, &[]);
    let folder = Folder::open("s3://runs/digests/", store.access()).expect("the bucket is there");
    folder.put("run=a/digests-1.parquet", b"PAR1").expect("put");
    assert_eq!(store.objects.lock().unwrap()["/runs/digests/run%3Da/digests-1.parquet"], b"PAR1");
    let requests = store.thread.join().expect("ended");
    assert!(requests.iter().all(|request| request.contains("X-Amz-Signature=")), "{requests:?}");
    assert!(requests[1].contains("eu-west-1"), "{requests:?}");
}

#[test]
fn a_busy_store_is_asked_again() {
    let store = Store::new(3, &[503]);
    let folder = Folder::open("s3://runs", store.access()).expect("the bucket is there");
    folder.put("digests.parquet", b"PAR1").expect("put the second time");
    assert_eq!(store.objects.lock().unwrap().len(), 1);
    store.thread.join().expect("ended");
}

#[test]
fn what_goes_wrong_is_one_line_without_keys() {
    let store = Store::new(3, &[403]);
    let folder = Folder::open("s3://runs/x", store.access()).expect("the bucket is there");
    let refused = folder.put("a", b"").expect_err("refused");
    assert!(matches!(refused, BucketError::Refused(403)), "{refused}");
    let missing = Folder::open("s3://missing/x", store.access()).err().expect("no bucket");
    assert!(matches!(missing, BucketError::NoBucket), "{missing}");
    let access = store.access();
    store.thread.join().expect("ended");
    // Nobody listens there any more.
    let gone = Folder::open("s3://runs/x", access.clone()).err().expect("nobody answers");
    for error in [refused, missing, gone] {
        let line = error.to_string();
        assert!(
            !line.contains("hidden") && !line.contains("Signature") && line.lines().count() == 1,
            "{line}"
        );
        assert!(line.contains(": check "), "{line}");
    }
    let none = Access { key: String::new(), ..access.clone() };
    assert!(matches!(Folder::open("s3://runs/x", none), Err(BucketError::NoKeys)));
    for address in ["s3://", "s3:///x", "runs/x"] {
        assert!(matches!(Folder::open(address, access.clone()), Err(BucketError::Address)), "{address}");
    }
}
