//! Puts files into a bucket of an object store that speaks S3's protocol: Amazon S3, MinIO, Ceph.
//!
//! An object is there whole or not at all, so nothing half-written can remain.

use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use std::time::Duration;
use ureq::Agent;

/// How long a signature is valid.
const VALID: Duration = Duration::from_secs(900);

/// How often a request is tried, and the time before it is tried again; each next time is four times as long. Choices.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(250);

/// Longest time to connect, and for a whole request: an upload has at most a few megabytes. Choices.
const CONNECT: Duration = Duration::from_secs(10);
const REQUEST: Duration = Duration::from_secs(120);

/// Where to put files, and who puts them there. [`Access::of_environment`] reads the variables that other tools for S3 read.
#[derive(Clone, Default)]
pub struct Access {
    /// `AWS_ACCESS_KEY_ID`.
    pub key: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret: String,
    /// `AWS_SESSION_TOKEN`, where there is one.
    pub token: Option<String>,
    /// `AWS_REGION` or `AWS_DEFAULT_REGION`; else `us-east-1`.
    pub region: String,
    /// `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`: another store than Amazon's.
    pub endpoint: Option<String>,
}

/// Why a file cannot be put into a bucket. No message has a key or a signed address.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// The address does not name a bucket.
    #[error("not an address of a bucket: write s3://BUCKET/FOLDER")]
    Address,
    /// There are no keys.
    #[error("no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")]
    NoKeys,
    /// The address of the store is not one.
    #[error("AWS_ENDPOINT_URL is not an address: write https://HOST")]
    Endpoint,
    /// There is no such bucket.
    #[error("no such bucket: check the name and AWS_REGION")]
    NoBucket,
    /// The store does not answer.
    #[error("cannot be reached: {0}: check the network, AWS_REGION and AWS_ENDPOINT_URL")]
    Unreachable(String),
    /// The store refused.
    #[error("the store answered {0}: check the keys and their permission to write")]
    Refused(u16),
}

impl Access {
    /// What the environment states.
    pub fn of_environment() -> Access {
        let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let region = named("AWS_REGION").or_else(|| named("AWS_DEFAULT_REGION"));
        Access {
            key: named("AWS_ACCESS_KEY_ID").unwrap_or_default(),
            secret: named("AWS_SECRET_ACCESS_KEY").unwrap_or_default(),
            token: named("AWS_SESSION_TOKEN"),
            region: region.unwrap_or_else(|| String::from("us-east-1")),
            endpoint: named("AWS_ENDPOINT_URL_S3").or_else(|| named("AWS_ENDPOINT_URL")),
        }
    }
}

/// A folder in a bucket.
pub struct Folder {
    bucket: Bucket,
    credentials: Credentials,
    /// Before every name; empty or with a slash at the end.
    prefix: String,
    agent: Agent,
}

/// Whether a name is the address of a folder in a bucket.
pub fn is_address(name: &str) -> bool {
    name.starts_with("s3://")
}

impl Folder {
    /// The folder of an address; asks the store whether it has the bucket.
    ///
    /// # Errors
    /// If the address is none, keys are missing, or the store does not answer or has no such bucket.
    pub fn open(address: &str, access: Access) -> Result<Folder, BucketError> {
        let path = address.strip_prefix("s3://").ok_or(BucketError::Address)?;
        let (name, prefix) = path.split_once('/').unwrap_or((path, ""));
        if name.is_empty() {
            return Err(BucketError::Address);
        }
        if access.key.is_empty() || access.secret.is_empty() {
            return Err(BucketError::NoKeys);
        }
        let (endpoint, style) = match &access.endpoint {
            Some(endpoint) => (endpoint.clone(), UrlStyle::Path),
            None => (format!("https://s3.{}.amazonaws.com", access.region), UrlStyle::VirtualHost),
        };
        let endpoint = endpoint.parse().map_err(|_| BucketError::Endpoint)?;
        let bucket =
            Bucket::new(endpoint, style, name.to_owned(), access.region).map_err(|_| BucketError::Address)?;
        let credentials = match access.token {
            Some(token) => Credentials::new_with_token(access.key, access.secret, token),
            None => Credentials::new(access.key, access.secret),
        };
        let agent = Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(REQUEST))
            .http_status_as_error(false)
            .build()
            .into();
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let folder = Folder { bucket, credentials, prefix, agent };
        folder.has_bucket()?;
        Ok(folder)
    }

    fn has_bucket(&self) -> Result<(), BucketError> {
        let request = || {
            let url = self.bucket.head_bucket(Some(&self.credentials)).sign(VALID);
            self.agent.head(url.as_str()).call().map(|response| response.status().as_u16())
        };
        match tried(request)? {
            404 => Err(BucketError::NoBucket),
            // Those who may write need not be allowed to ask.
            200..=499 => Ok(()),
            status => Err(BucketError::Refused(status)),
        }
    }

    /// Puts a file into the folder, or replaces it.
    ///
    /// # Errors
    /// If the store does not answer, or refuses.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BucketError> {
        let key = format!("{}{name}", self.prefix);
        let request = || {
            let url = self.bucket.put_object(Some(&self.credentials), &key).sign(VALID);
            self.agent.put(url.as_str()).send(bytes).map(|response| response.status().as_u16())
        };
        match tried(request)? {
            200..=299 => Ok(()),
            404 => Err(BucketError::NoBucket),
            status => Err(BucketError::Refused(status)),
        }
    }
}

/// A request's status, after it was tried again while the store is busy or does not answer.
fn tried(request: impl Fn() -> Result<u16, ureq::Error>) -> Result<u16, BucketError> {
    let mut pause = PAUSE;
    for left in (0..TRIES).rev() {
        match request() {
            Ok(429 | 500..=599) if left > 0 => {}
            Ok(status) => return Ok(status),
            Err(error) if left == 0 => return Err(BucketError::Unreachable(reason(&error))),
            Err(_) => {}
        }
        std::thread::sleep(pause);
        pause *= 4;
    }
    unreachable!("the last try returns")
}

/// Why a request failed, without its address: a signed one lets others write.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => error.to_string().split(" (os error").next().unwrap_or_default().to_owned(),
        ureq::Error::HostNotFound => String::from("no such host"),
        ureq::Error::Timeout(_) => String::from("no answer in time"),
        ureq::Error::ConnectionFailed => String::from("connection failed"),
        _ => String::from("the answer is not that of a store"),
    }
}
