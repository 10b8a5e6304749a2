//! What the desk answers. Times are texts that the database made, RFC 3339 in UTC. For a time that no calendar has
//! (`infinity` on PostgreSQL), the text is the database's own word.

use std::time::{Duration, SystemTime};

use outbox_schema::MessageId;
use outbox_store::store::CRASHED;
use outbox_store::store::Lossy;
use outbox_store::{Outcome, PauseKind};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::{HaltedVitals, JobEntry};

/// The state of an outbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Vitals {
    /// Channels by name. A channel without pending and dead messages is left out.
    pub channels: Vec<ChannelVitals>,
    /// The tenants with most of what has been due for longest, five at most. Those with few are left out.
    #[serde(default)]
    pub tenants: Vec<TenantVitals>,
    /// The present term of each shard that has had one.
    pub terms: Vec<CurrentTerm>,
    /// Destinations and channels that are paused, a hundred at most. Those that asked for their pause themselves come last.
    pub paused: Vec<PausedDestination>,
    /// The number of all that are paused.
    #[serde(default)]
    pub paused_count: i64,
    /// The halted ordering keys of each channel that halts at dead letters.
    #[serde(default)]
    pub halted: Vec<HaltedVitals>,
    /// Claims of earlier terms that wait for their settling time.
    pub unsettled_claims: i64,
    /// Jobs, the first hundred by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobEntry>,
}

impl Vitals {
    /// The number of paused destinations and channels that [`paused`](Self::paused) leaves out.
    pub fn others_paused(&self) -> u64 {
        u64::try_from(self.paused_count).unwrap_or_default().saturating_sub(self.paused.len() as u64)
    }

    /// The age of the oldest message of all channels that is due or deferred. Zero where there is none.
    pub fn lag(&self) -> Duration {
        self.channels.iter().map(ChannelVitals::lag).max().unwrap_or_default()
    }
}

/// The pending and the dead messages of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChannelVitals {
    /// The name of the channel in the rows. The settings need not know it.
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    /// Messages that are `PENDING`.
    pub pending: i64,
    /// Pending messages that are due now, those in flight among them.
    pub due: i64,
    /// Pending messages that were due and are deferred: their destination is paused, or their channel is not
    /// configured.
    pub deferred: i64,
    /// Messages that are `DEAD`.
    pub dead: i64,
    /// The age of the oldest message that is due or deferred, in milliseconds. None where there is none.
    pub lag_ms: Option<i64>,
}

/// The due messages of a tenant, those in flight among them. Of each priority the 10,000 that have been due for longest are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TenantVitals {
    /// The channel.
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    /// Who takes turns with others in the channel: the tenant that rows name, or else their destination.
    #[sqlx(try_from = "Lossy<String>")]
    pub tenant: String,
    /// The number of its due messages.
    pub due: i64,
    /// How long the first of them has been due, in milliseconds. None where its time is minus infinity.
    pub lag_ms: Option<i64>,
}

impl TenantVitals {
    /// The age of the tenant's oldest due message. Zero where its time is minus infinity.
    pub fn lag(&self) -> Duration {
        age(self.lag_ms)
    }
}

impl ChannelVitals {
    /// The age of the channel's oldest message that is due or deferred. Zero where there is none.
    pub fn lag(&self) -> Duration {
        age(self.lag_ms)
    }
}

fn age(ms: Option<i64>) -> Duration {
    Duration::from_millis(ms.and_then(|ms| ms.try_into().ok()).unwrap_or(0))
}

/// The present term of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CurrentTerm {
    /// The shard.
    pub shard: i32,
    /// The fencing token of the term.
    pub epoch: i64,
    /// The holder that began the term, and that still leads if it is alive.
    pub holder: String,
    /// When the term began.
    pub started_at: String,
    /// Milliseconds since the term began.
    pub age_ms: i64,
}

/// A destination, or a whole channel, that is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PausedDestination {
    /// A destination (`https://host:443`) or the name of a channel.
    pub destination: String,
    /// When the pause ends.
    pub paused_until: String,
    /// Milliseconds until the pause ends. None where it lasts until an operator resumes the destination.
    pub remaining_ms: Option<i64>,
    /// Who paused it: a person, or `dispatcher`.
    pub paused_by: Option<String>,
    /// The kind of the pause: `hand`, `breaker`, `asked` or `barred`.
    pub pause_kind: Option<String>,
    /// What went wrong, or what the operator said.
    pub reason: Option<String>,
    /// Pauses in a row that followed failures.
    pub failures: i32,
}

impl PausedDestination {
    /// How many are listed at most.
    pub(super) const SHOWN: i64 = 100;

    /// Whether the pause holds a whole channel ([`PauseKind::holds_a_channel`]).
    pub fn holds_a_channel(&self) -> bool {
        PauseKind::of(self.pause_kind.as_deref()).holds_a_channel()
    }
}

/// A term, present or past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TermEntry {
    /// The shard.
    pub shard: i32,
    /// The fencing token of the term.
    pub epoch: i64,
    /// The holder that led the term.
    pub holder: String,
    /// When the term began.
    pub started_at: String,
    /// When the term ended. None while it lasts.
    pub ended_at: Option<String>,
    /// Why the term ended: `interval`, `lost`, `renewal_failed`, `wedged`, `shutdown`, `fenced` or
    /// `database_changed`.
    pub ended_because: Option<String>,
    /// Rows that the term claimed. None where its holder could not say.
    pub claimed: Option<i64>,
    /// Rows that receivers accepted before the term ended. Rows in flight at its end are counted nowhere.
    pub delivered: Option<i64>,
    /// Rows whose attempt failed before the term ended.
    pub failed: Option<i64>,
    /// Attempts in doubt of the term: sent, or perhaps sent, and without an answer on record, as after a timeout. A later term adds
    /// the rows that it settles. None in terms of earlier releases, and outside of a list of terms.
    #[serde(default)]
    #[sqlx(default)]
    pub in_doubt: Option<i64>,
    /// The name of the replica that led the term. None where it wrote none, as replicas of earlier releases.
    #[serde(default)]
    pub instance: Option<String>,
    /// The version of that replica's program.
    #[serde(default)]
    pub version: Option<String>,
    /// The server of the database that minted the term, with its timeline on PostgreSQL. None on SQLite, on Aurora, and in terms of
    /// earlier releases.
    #[serde(default)]
    pub served_by: Option<String>,
    /// The same of the next term. Where it is another one, the database failed over between them.
    #[serde(default)]
    #[sqlx(default)]
    pub next_served_by: Option<String>,
    /// When the next term of the shard began. None for the newest one. Only in a list of terms.
    #[serde(default)]
    #[sqlx(default)]
    pub next_started_at: Option<String>,
}

/// A length of time of which perhaps only a bound is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// The length, or its bound, in milliseconds.
    pub ms: i64,
    /// Whether this is the length itself. If not, a gap is no longer than this, and a term no shorter.
    pub is_exact: bool,
}

/// A poller that begins notes within this time that the one before noted no end.
const AT_ITS_BEGINNING_MS: i64 = 100;

impl TermEntry {
    /// From which server to which the database failed over before the next term, in words. None where it did not.
    pub fn failover(&self) -> Option<String> {
        let (from, to) = (self.served_by.as_ref()?, self.next_served_by.as_ref()?);
        (from != to).then(|| format!("from {from} to {to}"))
    }

    /// How long nobody led the shard behind the term. None for the newest one, and where a time is not known.
    ///
    /// Where the term's poller did not note its end, the gap counts from its last sign of life: `seen_at`, when it wrote its row last.
    pub fn gap(&self, seen_at: Option<&str>) -> Option<Length> {
        let is_exact = self.notes_its_end();
        let from = if is_exact { self.ended_at.as_deref() } else { Some(self.last_sign(seen_at)) };
        between_ms(from?, self.next_started_at.as_deref()?).map(|ms| Length { ms, is_exact })
    }

    /// How long the term lasted. None while it goes on.
    pub fn lasted(&self, seen_at: Option<&str>) -> Option<Length> {
        let ended = self.ended_at.as_deref()?;
        let is_exact = self.notes_its_end();
        let to = if is_exact { ended } else { self.last_sign(seen_at) };
        between_ms(&self.started_at, to).map(|ms| Length { ms, is_exact })
    }

    /// When the term ended, as far as it is known: its end, or the last sign of life of its poller. None while it goes on.
    pub fn until<'a>(&'a self, seen_at: Option<&'a str>) -> Option<&'a str> {
        let ended = self.ended_at.as_deref()?;
        Some(if self.notes_its_end() { ended } else { self.last_sign(seen_at) })
    }

    /// Whether the poller of the term noted its end. If not, the next one did, at its own beginning.
    fn notes_its_end(&self) -> bool {
        match self.ended_because.as_deref() {
            Some("interval" | "shutdown") => true,
            Some(_) => {
                let gap = self.ended_at.as_deref().zip(self.next_started_at.as_deref());
                gap.is_none_or(|(ended, next)| between_ms(ended, next).is_some_and(|ms| ms > AT_ITS_BEGINNING_MS))
            }
            None => false,
        }
    }

    /// The last sign of life of the term's poller: its row, where that was written within the term, else the beginning of the term.
    fn last_sign<'a>(&'a self, seen_at: Option<&'a str>) -> &'a str {
        let end = self.next_started_at.as_deref().or(self.ended_at.as_deref());
        let within = |seen: &&str| {
            let [began, seen, end] = [Some(self.started_at.as_str()), Some(*seen), end].map(|at| at.and_then(moment));
            began.is_some() && began <= seen && (end.is_none() || seen <= end)
        };
        seen_at.filter(within).unwrap_or(&self.started_at)
    }
}

fn moment(time: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339_weak(time).ok()
}

/// Milliseconds from one time to another, and 0 where that is before it.
fn between_ms(from: &str, to: &str) -> Option<i64> {
    i64::try_from(moment(to)?.duration_since(moment(from)?).unwrap_or_default().as_millis()).ok()
}

/// A message with its attempts, its audit and the claim that names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(missing_docs, reason = "the columns of the table `outbox`")]
pub struct MessageRecord {
    pub id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    pub idempotency_key: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub target: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub destination: String,
    /// The payload as JSON text, as the database returns it. None where it has more than 8 MiB: nothing reads those back.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub payload: Option<String>,
    /// The length of the payload, in bytes of that text.
    #[serde(default)]
    pub payload_bytes: i64,
    /// The headers as JSON text, as the database returns it.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub headers: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub ordering_key: Option<String>,
    /// Whom the message is sent for, where its row says it.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tenant: Option<String>,
    /// The message that this one repeats, where it is a replay.
    #[serde(default)]
    pub replay_of: Option<i64>,
    /// The key that the receiver gets, where it is not the row's own: that of the message repeated.
    #[serde(default)]
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub sent_key: Option<String>,
    /// The tags as JSON text, as the database returns it.
    #[serde(default)]
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tags: Option<String>,
    pub priority: i32,
    pub shard: i32,
    pub revision: i32,
    /// The status as written: an application may have written an unknown one.
    pub status: String,
    pub dead_reason: Option<String>,
    pub attempts: i32,
    pub max_attempts: Option<i32>,
    /// The milliseconds for which the next attempt waits for an answer, once one has timed out.
    #[serde(default)]
    pub deadline_ms: Option<i32>,
    pub available_at: String,
    pub deferred_from: Option<String>,
    pub expires_at: Option<String>,
    pub first_attempt_at: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub traceparent: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tracestate: Option<String>,
    pub last_error: Option<String>,
    pub last_status_code: Option<i32>,
    pub receipt: Option<String>,
    pub created_at: String,
    pub finished_at: Option<String>,
    /// The attempts that were not plain successes, the oldest first.
    #[sqlx(skip)]
    pub attempt_log: Vec<AttemptEntry>,
    /// The changes that people made to the message, the oldest first.
    #[sqlx(skip)]
    pub audit: Vec<AuditEntry>,
    /// The claim under which the message may be in flight now.
    #[sqlx(skip)]
    pub claim: Option<NamingClaim>,
}

impl MessageRecord {
    /// The idempotency key that the receiver gets.
    pub fn key_sent(&self) -> &str {
        self.sent_key.as_deref().unwrap_or(&self.idempotency_key)
    }
}

/// An attempt that was not a plain success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptEntry {
    /// The number of the attempt, 1 for the first.
    pub number: i32,
    /// The epoch of the attempt.
    pub epoch: i64,
    /// The holder that made the attempt.
    pub holder: String,
    /// When the row was claimed.
    pub claimed_at: Option<String>,
    /// When the attempt began. None where its poller died before it could write that.
    pub started_at: Option<String>,
    /// The time from the gate to the last byte of the answer.
    pub duration_ms: Option<i64>,
    /// The outcome: `retry`, `dead`, `dead_target`, `deferred`, `in_doubt`, `delivered_fenced` or `delivered_unmarked`.
    pub outcome: String,
    /// The status code of the answer.
    pub status_code: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
    /// The beginning of the body of the answer.
    pub excerpt: Option<String>,
    /// The name of the holder's replica, where the log of terms has it.
    #[serde(default)]
    pub instance: Option<String>,
}

impl AttemptEntry {
    /// Whether a later term settled the attempt: no poller marked it, so its beginning is unknown.
    pub fn was_settled(&self) -> bool {
        self.outcome == Outcome::InDoubt.as_str() && self.started_at.is_none()
    }

    /// Whether the poller died, or was cut off, while the attempt was in flight.
    pub fn was_left_by_a_crash(&self) -> bool {
        self.was_settled() && self.error.as_deref() == Some(CRASHED)
    }
}

/// A claim that names a message with its present revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamingClaim {
    /// The id of the claim, a UUID.
    pub id: String,
    /// The shard of the claim.
    pub shard: i32,
    /// The epoch of the claim.
    pub epoch: i64,
    /// The holder that made the claim.
    pub holder: String,
    /// When the claim was made.
    pub claimed_at: String,
    /// When the holder said that it starts no more sends.
    pub gate_closed_at: Option<String>,
    /// When a later term began and superseded the claim.
    pub superseded_at: Option<String>,
    /// When a later term may decide the rows of the claim. None while the term of the claim lasts.
    pub settles_at: Option<String>,
    /// The name of the holder's replica, where the log of terms has it.
    #[serde(default)]
    pub instance: Option<String>,
}

/// A change that a person made by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// The id of the row in `outbox_audit`.
    pub id: i64,
    /// When the change was made.
    pub at: String,
    /// Who made the change: a person, or the name of a token.
    pub who: String,
    /// The change: `redrive`, `replay`, `undo`, `edit`, `cancel`, `retry`, `purge`, `prune`, `pause`,
    /// `resume` or `clear`.
    pub action: String,
    /// The reason that the person gave.
    pub why: Option<String>,
    /// JSON text: the request, or the values that the change overwrote.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub details: Option<String>,
    /// The id of the whole operation's entry, where this is the entry of one of its messages.
    pub part_of: Option<i64>,
}

/// A group of dead letters with the same channel, reason, status code and pattern of their error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadGroup {
    /// The name of the group: `channel/reason/status code/hash of the pattern`.
    pub fingerprint: String,
    /// The channel of the messages.
    pub channel: String,
    /// The reason of their death.
    pub dead_reason: Option<String>,
    /// The status code of their last answers.
    pub status_code: Option<i32>,
    /// The error without its variable parts.
    pub error: Option<String>,
    /// The number of dead letters in the group.
    pub count: u64,
    /// When the first of them died.
    pub first_seen: String,
    /// When the last of them died.
    pub last_seen: String,
    /// The newest message of the group.
    pub example: MessageId,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(ended_at: Option<&str>, because: Option<&str>, next: Option<&str>) -> TermEntry {
        let at = |time: &str| format!("2026-05-01T14:{time}Z");
        TermEntry {
            shard: 0,
            epoch: 7,
            holder: "a.1".to_owned(),
            started_at: at("10:00"),
            ended_at: ended_at.map(at),
            ended_because: because.map(str::to_owned),
            claimed: None,
            delivered: None,
            failed: None,
            in_doubt: None,
            instance: None,
            version: None,
            served_by: None,
            next_served_by: None,
            next_started_at: next.map(at),
        }
    }

    fn exactly(ms: i64) -> Length {
        Length { ms, is_exact: true }
    }

    fn bound(ms: i64) -> Length {
        Length { ms, is_exact: false }
    }

    #[test]
    fn a_gap_behind_an_end_that_the_poller_noted_is_exact() {
        let noted = term(Some("10:20"), Some("interval"), Some("10:20.03"));
        assert_eq!((noted.gap(None), noted.lasted(None)), (Some(exactly(30)), Some(exactly(20_000))));
        let failed = term(Some("10:20"), Some("renewal_failed"), Some("10:30"));
        assert_eq!((failed.gap(None), failed.lasted(None)), (Some(exactly(10_000)), Some(exactly(20_000))));
        let newest = term(None, None, None);
        assert_eq!((newest.gap(None), newest.lasted(None)), (None, None));
    }

    #[test]
    fn a_gap_behind_a_poller_that_was_killed_counts_from_its_last_sign_of_life() {
        let killed = term(Some("10:38"), Some("lost"), Some("10:38"));
        assert_eq!((killed.gap(None), killed.lasted(None)), (Some(bound(38_000)), Some(bound(0))));
        let seen = Some("2026-05-01T14:10:30Z");
        assert_eq!((killed.gap(seen), killed.lasted(seen)), (Some(bound(8_000)), Some(bound(30_000))));
        for elsewhere in ["2026-05-01T14:09:00Z", "2026-05-01T14:11:00Z"] {
            assert_eq!(killed.gap(Some(elsewhere)), Some(bound(38_000)), "{elsewhere}");
        }
        let told_late = term(Some("10:38"), Some("renewal_failed"), Some("10:38"));
        assert_eq!(told_late.gap(None), Some(bound(38_000)), "the next one had noted the end");
    }
}
