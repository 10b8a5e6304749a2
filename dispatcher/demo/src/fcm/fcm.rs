//! `outbox demo fcm`: a stand-in for FCM and for Google's token endpoint, as strict as they are, for tests and for people
//! without a Firebase project (docs/fcm.md).
//!
//! Sends go over TLS, with HTTP/2 and 100 requests at a time on a connection. Access tokens are given for assertions that
//! the service account has signed, and are asked for with each send. A message is refused that FCM would refuse, and how
//! one to a device is answered goes by the device's name ([`MANNERS`]). It has a thread of its own, and its account of
//! what it took is independent of the dispatcher's.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Serialize;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use super::shared::Shared;
use super::shared::{Behaviour, Counts, Received, Shown};
use super::tokens::PROJECT;
use super::tokens::Tokens;
use crate::fcm::files::write;

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

impl Places {
    /// The settings of a channel of that name, in TOML.
    pub(super) fn channel(&self, name: &str) -> String {
        let Self { base_url, credentials, tls_ca, .. } = self;
        format!(
            "[channels.{name}]\nkind = \"fcm\"\nbase_url = \"{base_url}\"\ncredentials = \"{}\"\ntls_ca = \"{}\"\n\
             allow_networks = [\"127.0.0.0/8\", \"::1/128\"]\n",
            credentials.display(),
            tls_ca.display()
        )
    }
}

/// It ends when this is dropped.
#[derive(Debug)]
pub struct StandIn {
    places: Places,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
    _temporary: Option<TempDir>,
    _taken: File,
}

impl StandIn {
    /// Listens, and writes its key file and its certificate.
    ///
    /// # Errors
    /// A port or a directory that another one has, or a directory that cannot be written.
    pub fn start(options: &Options) -> anyhow::Result<Self> {
        let temporary = if options.directory.is_none() { Some(tempfile::tempdir()?) } else { None };
        let directory = match (&options.directory, &temporary) {
            (Some(directory), _) => directory.clone(),
            (None, temporary) => temporary.as_ref().map(|directory| directory.path().to_owned()).unwrap_or_default(),
        };
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("the directory {} cannot be made", directory.display()))?;
        let taken = take(&directory)?;
        let (sends, port) = bind((options.listen, options.port).into())?;
        let (control, control_port) = bind((options.listen, options.control_port).into())?;
        let control_url = format!("http://{}:{control_port}", options.host);
        let tokens = Tokens::new(format!("{control_url}/token"), Duration::from_hours(1))?;
        let shared = Shared::new(tokens, options.latency);
        let names = [options.host.clone(), "localhost".to_owned(), "127.0.0.1".to_owned()];
        let (tls, authority) = super::certificate::acceptor(&names, &directory)?;
        let (credentials, tls_ca) = (directory.join("service-account.json"), directory.join("ca.pem"));
        write(&credentials, &shared.key_file())?;
        write(&tls_ca, &authority)?;
        let places = Places {
            base_url: format!("https://{}:{port}", options.host),
            credentials,
            tls_ca,
            project_id: PROJECT,
            control: format!("{control_url}/control"),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let stand_in = Self { places, shared, runtime: Some(runtime), _temporary: temporary, _taken: taken };
        stand_in.listen(sends, (tls, options.streams), control)?;
        Ok(stand_in)
    }

    fn listen(&self, sends: StdListener, tls: (TlsAcceptor, u32), control: StdListener) -> anyhow::Result<()> {
        let (shared, Some(runtime)) = (&self.shared, &self.runtime) else { return Ok(()) };
        let _entered = runtime.enter();
        let (sends, control) = (TcpListener::from_std(sends)?, TcpListener::from_std(control)?);
        runtime.spawn(super::connections::listen(
            sends,
            Some(tls),
            super::routes::sends(shared.clone()),
            shared.clone(),
        ));
        runtime.spawn(super::connections::listen(
            control,
            None,
            super::routes::control(shared.clone()),
            shared.clone(),
        ));
        Ok(())
    }

    /// Where it is.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The settings of a channel of that name, in TOML.
    pub fn channel(&self, name: &str) -> String {
        self.places.channel(name)
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

/// Takes the directory for as long as the file is open: a second one there would replace the key file of the first.
fn take(directory: &Path) -> anyhow::Result<File> {
    let file = directory.join("in-use");
    let taken = File::create(&file).with_context(|| format!("{} cannot be written", file.display()))?;
    match taken.try_lock() {
        Ok(()) => Ok(taken),
        Err(TryLockError::WouldBlock) => {
            bail!("another stand-in writes to {}: give --directory another one", directory.display())
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("{} cannot be locked", file.display())),
    }
}

fn bind(address: SocketAddr) -> anyhow::Result<(StdListener, u16)> {
    let listener = StdListener::bind(address)
        .with_context(|| format!("cannot listen on {address} (--port 0 and --control-port 0 take free ports)"))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
