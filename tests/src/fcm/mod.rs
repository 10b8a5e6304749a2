//! A stand-in for FCM and for Google's token endpoint, as strict as they are: for tests, and for people without a
//! Firebase project (docs/fcm.md).
//!
//! Sends go over TLS, with HTTP/2 and 100 requests at a time on a connection. Access tokens are given for assertions that
//! the service account has signed, and are asked for with each send. A message is refused that FCM would refuse, and how
//! one to a device is answered goes by the device's name ([`MANNERS`]). It has a thread of its own, and its account of
//! what it took is independent of the dispatcher's.

mod answer;
mod certificate;
mod connections;
mod lingering;
mod message;
mod routes;
mod schema;
mod shared;
mod tokens;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub use self::answer::MANNERS;
use self::shared::Shared;
pub use self::shared::{Behaviour, Counts, Quota, Received, Shown};
pub use self::tokens::PROJECT;
use self::tokens::Tokens;

/// Requests at a time on a connection
/// (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>).
const STREAMS: u32 = 100;

/// Where a stand-in listens and how it begins.
#[derive(Debug, Clone)]
pub struct Options {
    /// At which address.
    pub listen: IpAddr,
    /// For sends; 0: a free one.
    pub port: u16,
    /// In plain text, for access tokens and for control; 0: a free one.
    pub control_port: u16,
    /// How it is called in URLs and in its certificate.
    pub host: String,
    /// Where its files are written; none: a directory that is removed with it.
    pub directory: Option<PathBuf>,
    /// How long an answer takes.
    pub latency: Duration,
    /// Requests that it takes at a time on a connection.
    pub streams: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            control_port: 0,
            host: "localhost".to_owned(),
            directory: None,
            latency: Duration::ZERO,
            streams: STREAMS,
        }
    }
}

/// What a channel needs to know, and how to tell the stand-in what to do.
#[derive(Debug, Clone, Serialize)]
pub struct Places {
    /// `base_url` of a channel.
    pub base_url: String,
    /// `credentials` of a channel.
    pub credentials: PathBuf,
    /// `tls_ca` of a channel.
    pub tls_ca: PathBuf,
    /// The Firebase project.
    pub project_id: &'static str,
    /// GET for counts, POST for a [`Behaviour`].
    pub control: String,
}

/// It ends when this is dropped.
#[derive(Debug)]
pub struct StandIn {
    places: Places,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
    _directory: Option<TempDir>,
}

impl StandIn {
    /// Starts it.
    ///
    /// # Panics
    /// Where it cannot listen or write its files.
    pub fn start(options: &Options) -> Self {
        let temporary = options.directory.is_none().then(|| tempfile::tempdir().unwrap());
        let directory = match (&options.directory, &temporary) {
            (Some(directory), _) => directory.clone(),
            (None, temporary) => temporary.as_ref().map(|directory| directory.path().to_owned()).unwrap_or_default(),
        };
        std::fs::create_dir_all(&directory).unwrap();
        let (sends, port) = bind((options.listen, options.port).into());
        let (control, control_port) = bind((options.listen, options.control_port).into());
        let control_url = format!("http://{}:{control_port}", options.host);
        let tokens = Tokens::new(format!("{control_url}/token"), Duration::from_hours(1));
        let shared = Shared::new(tokens, options.latency);
        let names = [options.host.clone(), "localhost".to_owned(), "127.0.0.1".to_owned()];
        let (tls, authority) = certificate::acceptor(&names, &directory);
        let file = |name: &str, text: &str| {
            let path = directory.join(name);
            write(&path, text);
            path
        };
        let places = Places {
            base_url: format!("https://{}:{port}", options.host),
            credentials: file("service-account.json", &shared.key_file()),
            tls_ca: file("ca.pem", &authority),
            project_id: PROJECT,
            control: format!("{control_url}/control"),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.spawn(connections::listen(
            sends,
            Some((tls, options.streams)),
            routes::sends(shared.clone()),
            shared.clone(),
        ));
        runtime.spawn(connections::listen(control, None, routes::control(shared.clone()), shared.clone()));
        Self { places, shared, runtime: Some(runtime), _directory: temporary }
    }

    /// Where it is.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The settings of a channel of that name, in TOML.
    pub fn channel(&self, name: &str) -> String {
        let Places { base_url, credentials, tls_ca, .. } = &self.places;
        let quoted = |path: &Path| path.display().to_string();
        format!(
            "[channels.{name}]\nkind = \"fcm\"\nbase_url = \"{base_url}\"\ncredentials = \"{}\"\ntls_ca = \"{}\"\n\
             allow_networks = [\"127.0.0.0/8\", \"::1/128\"]\n",
            quoted(credentials),
            quoted(tls_ca)
        )
    }

    /// Behaves like this from now on.
    pub fn behave(&self, behaviour: &Behaviour) {
        self.shared.behave(behaviour);
    }

    /// Every send, in the order of arrival.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received()
    }

    /// How often each idempotency key was accepted.
    pub fn accepted(&self) -> HashMap<String, usize> {
        self.shared.accepted()
    }

    /// What a device shows, as `token:abc`.
    pub fn shown_on(&self, target: &str) -> Vec<Shown> {
        self.shared.shown_on(target)
    }

    /// How much there was of everything.
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
}

fn bind(address: SocketAddr) -> (TcpListener, u16) {
    let listener = TcpListener::bind(address).unwrap_or_else(|error| panic!("cannot listen at {address}: {error}"));
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
