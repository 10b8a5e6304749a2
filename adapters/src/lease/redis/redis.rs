//! A lease in Redis 6.2 or later, or Valkey: a key that expires.
//!
//! Redis decides who holds the lease and how long it lasts. Its memory may fail (a failover, a `FLUSHALL`). So the
//! epoch in the outbox database, not the lease, decides who may send.
//!
//! An ACL user needs [`REDIS_RIGHTS`].

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::words::{NO_AUTHORITY, own_authority};
use outbox_store::{Holder, Lineages, Seat, Shard};
use parking_lot::{Mutex, MutexGuard};
use redis::{ErrorKind, RedisError, Script, ScriptInvocation, ServerErrorKind};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::super::{Held, Lease, LeaseError};
use super::address::Address;
use super::connections::Connections;
use super::primary::Primary;
use super::releases::Releases;

/// The allowed forms of `lease.url`, for messages.
pub const REDIS_URL: &str = "redis://[USER:PASSWORD@]HOST[:PORT][/DB], or with sentinels \
     redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]/SERVICE[/DB], or in a cluster \
     redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]; rediss://, rediss+sentinel:// and rediss+cluster:// for TLS";

/// The rights that an ACL user needs on the server
/// (<https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/>). Behind sentinels it also needs
/// `+role`, and for a database other than 0 also `+select`. A user of the sentinels needs
/// `+sentinel|get-master-addr-by-name`.
pub const REDIS_RIGHTS: &str = "~outbox:* &outbox:* +set +get +del +pexpire +pttl +multi +exec +publish +subscribe \
     +evalsha +script|load +role";

/// Why the lease in Redis cannot be set up with these settings.
#[derive(Debug, thiserror::Error)]
pub enum RedisSetupError {
    /// The setting `lease.url` names no Redis server.
    #[error("lease.url is not the address of a Redis server: {0}; allowed is {REDIS_URL}")]
    Url(String),
    /// The setting `lease.tls_ca` cannot be used.
    #[error("lease.tls_ca: {0}; allowed is a PEM file with the certificates of authorities")]
    TlsCa(String),
}

/// Checks a `lease.url` without using it.
///
/// # Errors
/// What is wrong with the URL, for people. Never repeats the URL, which may hold a password.
pub fn check_redis_url(url: &str) -> Result<(), String> {
    Address::parse(url).map(|_| ())
}

/// The lease of one outbox in one Redis.
///
/// Commands for an idle fleet, as Redis counts them (those inside scripts too): one for each [`Lease::acquire`] while
/// another replica holds the lease, four for each [`Lease::renew`], two for each [`Lease::witness`], four for each [`Lease::release`].
pub struct RedisLease {
    outbox_id: String,
    at: String,
    /// Connections for campaigns, releases and questions.
    commands: Connections,
    /// Connections for renewals, so that a renewal waits for nothing, not even for a campaign that is connecting.
    renewals: Connections,
    releases: Releases,
    primary: Arc<Primary>,
    /// The user of the ACL, and whether sentinels name the server.
    user: String,
    has_sentinels: bool,
    renew: Script,
    release: Script,
    seen: Script,
    /// What this process saw of the database, for the witness, and what the witness told.
    lineages: Arc<Lineages>,
    /// Whether the log has been told of a witness that cannot be read.
    told: AtomicBool,
    /// For each shard, the holder whose last [`Lease::acquire`] was not answered "no": it may hold the lease.
    perhaps: Mutex<HashMap<Seat, Holder>>,
}

impl RedisLease {
    /// Sets the lease up without connecting. `tls_ca` is the path of a PEM file with the authorities to trust instead
    /// of the system's; empty means the system's. `outbox_id` is the UUID of the outbox, which keeps the leases of
    /// several outboxes in one Redis apart. A server that falls silent is found out within `ttl`.
    pub fn new(url: &str, tls_ca: &str, outbox_id: &str, ttl: Duration) -> Result<Self, RedisSetupError> {
        let (primary, at) = primary_of(url, tls_ca, ttl)?;
        let (user, has_sentinels) = primary.user();
        Ok(Self {
            primary: Arc::clone(&primary),
            user,
            has_sentinels,
            outbox_id: outbox_id.to_owned(),
            at,
            commands: Connections::new(Arc::clone(&primary)),
            renewals: Connections::new(Arc::clone(&primary)),
            releases: Releases::new(primary),
            renew: Script::new(concat!(include_str!("witness.lua"), include_str!("renew.lua"))),
            release: Script::new(include_str!("release.lua")),
            seen: Script::new(concat!(include_str!("witness.lua"), include_str!("seen.lua"))),
            lineages: Arc::default(),
            told: AtomicBool::new(false),
            perhaps: Mutex::default(),
        })
    }

    /// Has the lease tell the other replicas what this process sees of the database, and hear what they saw.
    #[must_use]
    pub fn for_all(self, lineages: Arc<Lineages>) -> Self {
        Self { lineages, ..self }
    }

    /// A cluster hashes the part in braces, so the key of a script and other keys of a shard would be on one node.
    fn key(&self, seat: &Seat) -> String {
        match seat {
            Seat::Shard(shard) => format!("outbox:{{{}}}:lease:{shard}", self.outbox_id),
            Seat::Job(name) => format!("outbox:{{{}}}:job:{name}", self.outbox_id),
        }
    }

    fn channel(&self, seat: &Seat) -> String {
        match seat {
            Seat::Shard(shard) => format!("outbox:{{{}}}:released:{shard}", self.outbox_id),
            Seat::Job(name) => format!("outbox:{{{}}}:released:job:{name}", self.outbox_id),
        }
    }

    /// What all replicas saw of the database; of a job too, that of the first shard. It never expires.
    fn witness_key(&self, seat: &Seat) -> String {
        let shard = if let Seat::Shard(shard) = seat { *shard } else { Shard::default() };
        format!("outbox:{{{}}}:seen:{shard}", self.outbox_id)
    }

    /// Hears what the witness answered. A text that is none stops nobody.
    fn heard(&self, seat: &Seat, answer: &str) {
        match answer.parse() {
            Ok(seen) => self.lineages.told(seen),
            Err(()) if self.told.swap(true, Ordering::Relaxed) => {}
            Err(()) => tracing::warn!(
                key = self.witness_key(seat),
                "lease.witness_unreadable: the key holds something else than what replicas saw of the database, so they do not \
                 warn each other of a server that a failover left behind; remove it with DEL"
            ),
        }
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(RedisError) -> LeaseError {
        move |source| LeaseError { at: self.at.clone(), doing, source: in_words(source) }
    }

    fn perhaps(&self) -> MutexGuard<'_, HashMap<Seat, Holder>> {
        self.perhaps.lock()
    }
}

#[async_trait]
impl Lease for RedisLease {
    /// The first call of a holder, or one after a "no", is one `SET`. After a lost answer or a "yes", a `GET` follows a
    /// `SET` that failed: it recognises a lease that an earlier call won.
    async fn acquire(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let key = &self.key(seat);
        let perhaps_held = self.perhaps().insert(seat.clone(), holder.clone()).as_ref() == Some(holder);
        let acquired = self.commands.with(|mut connection| async move {
            let mut take = redis::cmd("SET");
            take.arg(key).arg(holder.as_str()).arg("NX").arg("PX").arg(milliseconds(ttl));
            if take.query_async::<Option<String>>(&mut connection).await?.is_some() {
                return Ok(true);
            }
            if !perhaps_held {
                return Ok(false);
            }
            let found: Option<String> = redis::cmd("GET").arg(key).query_async(&mut connection).await?;
            Ok(found.as_deref() == Some(holder.as_str()))
        });
        let acquired = acquired.await.map_err(self.failed("campaigning for the lease"))?;
        if !acquired {
            self.perhaps().remove(seat);
        }
        Ok(acquired)
    }

    async fn renew(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        let mut renew = self.renew.key(self.key(seat));
        let renew = renew.key(self.witness_key(seat)).arg(holder.as_str()).arg(milliseconds(ttl));
        let renew: &ScriptInvocation<'_> = renew.arg(self.lineages.seen().to_string());
        let renewed = self.renewals.with(|mut connection| async move { renew.invoke_async(&mut connection).await });
        let answer: Option<String> = renewed.await.map_err(self.failed("renewing the lease"))?;
        if let Some(answer) = &answer {
            self.heard(seat, answer);
        }
        Ok(answer.is_some())
    }

    async fn witness(&self, seat: &Seat) -> Result<(), LeaseError> {
        let mut seen = self.seen.key(self.witness_key(seat));
        let seen: &ScriptInvocation<'_> = seen.arg(self.lineages.seen().to_string());
        let answer = self.commands.with(|mut connection| async move { seen.invoke_async(&mut connection).await });
        let answer: String = answer.await.map_err(self.failed("asking what other replicas saw of the database"))?;
        self.heard(seat, &answer);
        Ok(())
    }

    async fn release(&self, seat: &Seat, holder: &Holder) -> Result<bool, LeaseError> {
        let mut release = self.release.key(self.key(seat));
        let release: &ScriptInvocation<'_> = release.arg(holder.as_str()).arg(self.channel(seat));
        let released = self.commands.with(|mut connection| async move { release.invoke_async(&mut connection).await });
        released.await.map_err(self.failed("releasing the lease"))
    }

    /// Also wakes when the subscription has been made, at first or anew: a release before that was not heard.
    async fn released(&self, seat: &Seat) {
        self.releases.next(self.channel(seat)).await;
    }

    async fn missing_rights(&self) -> Result<Option<String>, LeaseError> {
        // A cluster is asked which node has the keys: the rights are those of the user there.
        let key = &self.key(&Shard::default().into());
        let found = self.commands.with(|mut connection| async move {
            redis::cmd("GET").arg(key).query_async::<Option<String>>(&mut connection).await
        });
        if let Err(error) = found.await
            && error.kind() != ErrorKind::Server(ServerErrorKind::NoPerm)
        {
            return Err(self.failed("trying the commands of the lease")(error));
        }
        let missing = super::rights::missing(&self.primary, &self.outbox_id, self.has_sentinels).await;
        let missing = missing.map_err(self.failed("trying the commands of the lease"))?;
        Ok((!missing.is_empty()).then(|| format!("ACL SETUSER {} {}", self.user, missing.join(" "))))
    }

    fn advice(&self) -> Option<String> {
        self.primary.advice()
    }

    async fn current(&self, seat: &Seat) -> Result<Option<Held>, LeaseError> {
        let key = &self.key(seat);
        let found = self.commands.with(|mut connection| async move {
            redis::pipe().atomic().get(key).pttl(key).query_async::<(Option<String>, i64)>(&mut connection).await
        });
        let (holder, remaining) = found.await.map_err(self.failed("asking who holds the lease"))?;
        let remaining = u64::try_from(remaining).map(Duration::from_millis);
        // The time to live is negative: someone set the key by hand, and it does not expire.
        let removed_by = remaining.is_err().then(|| format!("DEL {key}"));
        Ok(holder.map(|holder| Held { holder, remaining: remaining.unwrap_or(Duration::MAX), removed_by }))
    }
}

impl fmt::Debug for RedisLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLease").field("at", &self.at).field("outbox_id", &self.outbox_id).finish_non_exhaustive()
    }
}

/// The error of the client library, in words where it refused the server's certificate.
pub(crate) fn in_words(error: RedisError) -> Box<dyn std::error::Error + Send + Sync> {
    own_authority(&error.to_string(), NO_AUTHORITY).map_or_else(|| error.into(), Into::into)
}

/// The server of these settings, without a connection yet, and its address for errors.
pub(crate) fn primary_of(url: &str, tls_ca: &str, ttl: Duration) -> Result<(Arc<Primary>, String), RedisSetupError> {
    let address = Address::parse(url).map_err(RedisSetupError::Url)?;
    let at = address.shown();
    let authorities = authorities(tls_ca).map_err(RedisSetupError::TlsCa)?;
    // The address has been read, so only the certificates can be refused. The library's text may quote the file.
    let primary = Primary::new(address, authorities, ttl)
        .map_err(|_| RedisSetupError::TlsCa(format!("the file {tls_ca:?} holds a certificate that is damaged")))?;
    Ok((Arc::new(primary), at))
}

/// Reads the PEM file, which must hold a certificate.
fn authorities(path: &str) -> Result<Option<Vec<u8>>, String> {
    if path.is_empty() {
        return Ok(None);
    }
    let pem = std::fs::read(path).map_err(|error| format!("the file {path:?} cannot be read: {error}"))?;
    // The parser's message may quote the file, so it is left out.
    match CertificateDer::pem_slice_iter(&pem).next() {
        Some(Ok(_)) => Ok(Some(pem)),
        Some(Err(_)) => Err(format!("the file {path:?} is not PEM: give it with its line breaks")),
        None => Err(format!("the file {path:?} holds no certificate")),
    }
}

/// The milliseconds for `PX`, which refuses zero.
fn milliseconds(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    #[test]
    fn a_wrong_url_names_the_setting_and_keeps_its_password_to_itself() {
        for url in ["http://me:secret@localhost", "localhost:6379 secret", "redis://me:secret@localhost/first"] {
            let error = RedisLease::new(url, "", "id", TTL).unwrap_err().to_string();
            assert!(error.starts_with("lease.url is not the address of a Redis server"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn authorities_that_cannot_be_read_name_the_setting() {
        for path in ["/nonexistent/ca.pem", "/dev/null", "Cargo.toml"] {
            let error = RedisLease::new("rediss://localhost", path, "id", TTL).unwrap_err().to_string();
            assert!(error.starts_with("lease.tls_ca: the file") && error.contains(path), "{error}");
        }
    }

    #[test]
    fn neither_an_address_nor_a_debug_text_shows_a_password() {
        let lease = RedisLease::new("rediss://me:secret@redis.example:6380/1", "", "id", TTL).unwrap();
        assert_eq!(lease.at, "redis.example:6380");
        assert!(!format!("{lease:?}").contains("secret"));
        let url = "redis+sentinel://me:secret@one,two/shop?sentinel_password=secret";
        let lease = RedisLease::new(url, "", "id", TTL).unwrap();
        assert_eq!(lease.at, "shop (sentinels one:26379, two:26379)");
        let lease = RedisLease::new("redis+cluster://me:secret@one,two:1", "", "id", TTL).unwrap();
        assert_eq!(lease.at, "the cluster of one:6379, two:1");
    }
}
