//! Whether the fleet does its work, as far as one replica can tell. A healthy follower is ready: some replica must
//! poll, not this one.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use outbox_desk::HeldBack;
use outbox_store::Epoch;

use crate::health::answering::Silence;
use crate::health::vitals::Vitals;
use outbox_config::LeaseTimes;
use outbox_dispatcher::poller::marker_health::Stuck;

/// Fewer dead rows than this do not slow a poll down noticeably.
const DEAD_ROWS: i64 = 10_000;

/// A source of the causes for which the replica is not ready.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// What is wrong, and what else an operator should know.
    async fn look(&self) -> Standing;

    /// What the look that is under way waits for.
    fn waits_for(&self) -> Asked;
}

/// A server that a replica asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The outbox database.
    Database,
    /// The store of the lease.
    LeaseStore,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Database => "database",
            Self::LeaseStore => "lease store",
        })
    }
}

/// What a replica says of its readiness.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// One sentence for each fault. Empty when the replica is ready.
    pub causes: Vec<String>,
    /// One sentence for each thing that is no fault, but should not stay so.
    pub notes: Vec<String>,
}

/// What the replica knows at the time of the question.
#[derive(Debug, Clone, Copy)]
pub struct Observations<'a> {
    /// The state of the outbox, or why the database did not give it.
    pub database: Result<&'a Vitals, &'a str>,
    /// The fault of the schema, for people: too old, newer than this program, or foreign.
    pub schema: Option<&'a str>,
    /// The newest term in the database, whichever replica leads it. None before the first.
    pub newest_term: Option<NewestTerm>,
    /// Since when this replica could not write to the database. None when it can, or need not.
    pub store: Option<&'a Silence>,
    /// Why claims wait for a standby. None where they do not.
    pub standby: Option<&'a str>,
    /// Since when this replica could not record what came of messages. None while it can.
    pub marks: Option<&'a Stuck>,
    /// Dead rows that the database keeps for a snapshot. None where no operator need know.
    pub held_back: Option<&'a HeldBack>,
    /// Since when the lease store has not answered. None when it answers.
    pub lease_store: Option<&'a Silence>,
    /// The settings of the lease: how long its steps may take.
    pub lease: LeaseTimes,
}

/// A term as the database shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewestTerm {
    /// The epoch of the term.
    pub epoch: Epoch,
    /// How long ago the term began, by the database's clock.
    pub age: Duration,
}

/// One sentence for each fault. Empty when the replica is ready.
pub fn causes(seen: &Observations<'_>) -> Vec<String> {
    let of_database = [database(seen), schema(seen), standby(seen), marks(seen), writes(seen)];
    of_database.into_iter().chain([lease_store(seen), poller(seen), snapshot(seen)]).flatten().collect()
}

fn database(seen: &Observations<'_>) -> Option<String> {
    seen.database.err().map(|why| format!("database: {why}"))
}

/// Nothing is sent that no standby has a claim of.
fn standby(seen: &Observations<'_>) -> Option<String> {
    seen.standby.filter(|_| seen.database.is_ok()).map(|why| format!("database: {why}"))
}

/// A database that answers questions and takes no writes: it is read-only, full or slow. It is no cause where another
/// replica has begun a term since this replica last tried: its trouble is over then, or does not matter.
fn writes(seen: &Observations<'_>) -> Option<String> {
    let silence = seen.store.filter(|_| seen.database.is_ok() && seen.marks.is_none())?;
    let age = seen.newest_term.map_or(Duration::MAX, |term| term.age);
    // Trouble from before the newest term is over.
    let lasts = silence.lasts.min(age);
    (age > silence.latest && lasts > seen.lease.ttl)
        .then(|| format!("database: nothing could be written for {}: {}", seconds(lasts), silence.why))
}

/// Messages go out, and what comes of them is not recorded: each may go out again. So no more are claimed.
fn marks(seen: &Observations<'_>) -> Option<String> {
    let Stuck { lasts, why } = seen.marks?;
    let lasts = seconds(*lasts);
    Some(format!(
        "marks: what came of messages could not be recorded for {lasts}, and none is claimed meanwhile: {why}"
    ))
}

fn schema(seen: &Observations<'_>) -> Option<String> {
    seen.schema.map(|why| format!("schema: {why}"))
}

fn lease_store(seen: &Observations<'_>) -> Option<String> {
    let Silence { lasts, why, .. } = seen.lease_store.filter(|silence| silence.lasts > seen.lease.ttl)?;
    Some(format!("lease store: no answer for {}, so nobody can be elected: {why}", seconds(*lasts)))
}

/// Due messages age, and no term is young enough to be running. A backlog alone is no cause.
fn poller(seen: &Observations<'_>) -> Option<String> {
    let lag = seen.database.ok()?.lag();
    if lag <= seen.lease.patience() {
        return None;
    }
    let nobody = match seen.newest_term {
        None => "no replica has ever polled".to_owned(),
        Some(NewestTerm { epoch, age }) if age > seen.lease.longest_term() => {
            format!("no replica has begun to poll for {} (the last epoch is {epoch})", seconds(age))
        }
        Some(_) => return None,
    };
    Some(format!("poller: a message has been due for {} and {nobody}; see the logs of the replicas", seconds(lag)))
}

/// Due messages age, and dead rows pile up behind a snapshot that is older than they are. A snapshot alone is no cause,
/// nor is one while messages flow.
fn snapshot(seen: &Observations<'_>) -> Option<String> {
    let lag = seen.database.ok()?.lag();
    let HeldBack { dead_rows, holder, missing_right } = seen.held_back?;
    let holder = holder.as_ref()?;
    let held = match (holder.age(), holder.transactions) {
        (Some(age), _) if age >= lag => format!("for {}", seconds(age)),
        (None, Some(transactions)) => {
            let more =
                missing_right.map(|right| format!("; {right} to this role tells since when")).unwrap_or_default();
            format!("for {transactions} transactions{more}")
        }
        (Some(_) | None, _) => return None,
    };
    (lag > seen.lease.patience() && *dead_rows >= DEAD_ROWS).then(|| {
        format!(
            "snapshot: a message has been due for {}, and {} ({}) has held a snapshot {held}: {dead_rows} dead rows cannot \
             be removed, and each poll steps over them; end it with {}",
            seconds(lag),
            holder.what,
            holder.who,
            holder.end
        )
    })
}

fn seconds(duration: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(duration.as_secs()))
}

#[cfg(test)]
mod tests {
    use outbox_desk::Snapshot;

    use super::*;
    use crate::health::vitals::ChannelVitals;

    const LEASE: LeaseTimes = LeaseTimes { ttl: Duration::from_secs(10), term: Duration::from_secs(20) };

    fn lagging(lag: i64) -> Vitals {
        let channel = ChannelVitals { lag_ms: Some(lag * 1000), ..ChannelVitals::default() };
        Vitals { channels: vec![channel], ..Vitals::default() }
    }

    fn began(age: u64) -> NewestTerm {
        NewestTerm { epoch: Epoch(41), age: Duration::from_secs(age) }
    }

    fn healthy(vitals: &Vitals) -> Observations<'_> {
        Observations {
            database: Ok(vitals),
            schema: None,
            newest_term: Some(began(3)),
            store: None,
            standby: None,
            marks: None,
            held_back: None,
            lease_store: None,
            lease: LEASE,
        }
    }

    #[test]
    fn a_fleet_whose_poller_polls_is_ready() {
        assert_eq!(causes(&healthy(&lagging(0))), Vec::<String>::new());
    }

    #[test]
    fn a_backlog_that_somebody_works_on_is_no_cause() {
        assert_eq!(causes(&healthy(&lagging(3600))), Vec::<String>::new());
    }

    #[test]
    fn an_idle_outbox_needs_no_poller() {
        let vitals = lagging(0);
        assert_eq!(causes(&Observations { newest_term: None, ..healthy(&vitals) }), Vec::<String>::new());
        assert_eq!(causes(&Observations { newest_term: Some(began(9999)), ..healthy(&vitals) }), Vec::<String>::new());
    }

    #[test]
    fn due_messages_that_age_while_no_epoch_moves_are_a_cause() {
        let vitals = lagging(130);
        let causes = causes(&Observations { newest_term: Some(began(100)), ..healthy(&vitals) });
        let expected = "poller: a message has been due for 2m 10s and no replica has begun to poll for 1m 40s \
                        (the last epoch is 41); see the logs of the replicas";
        assert_eq!(causes, [expected]);
    }

    #[test]
    fn due_messages_that_age_before_any_term_are_a_cause() {
        let vitals = lagging(130);
        let causes = causes(&Observations { newest_term: None, ..healthy(&vitals) });
        assert_eq!(
            causes,
            ["poller: a message has been due for 2m 10s and no replica has ever polled; see the logs of the replicas"]
        );
    }

    #[test]
    fn a_change_of_poller_after_a_crash_is_waited_for() {
        let vitals = lagging(30);
        assert_eq!(causes(&Observations { newest_term: Some(began(100)), ..healthy(&vitals) }), Vec::<String>::new());
        let vitals = lagging(130);
        assert_eq!(causes(&Observations { newest_term: Some(began(33)), ..healthy(&vitals) }), Vec::<String>::new());
    }

    #[test]
    fn a_long_lease_makes_the_patience_longer() {
        let vitals = lagging(60);
        let lease = LeaseTimes { ttl: Duration::from_mins(2), ..LEASE };
        let seen = Observations { newest_term: None, lease, ..healthy(&vitals) };
        assert_eq!(causes(&seen), Vec::<String>::new());
    }

    #[test]
    fn a_database_that_cannot_be_asked_is_a_cause_in_its_own_words() {
        let vitals = Vitals::default();
        let seen = Observations { database: Err("connection refused"), ..healthy(&vitals) };
        assert_eq!(causes(&seen), ["database: connection refused"]);
    }

    #[test]
    fn a_standby_that_claims_wait_for_is_missed_at_once() {
        let vitals = Vitals::default();
        let causes = causes(&Observations { standby: Some("claims wait"), ..healthy(&vitals) });
        assert_eq!(causes, ["database: claims wait"]);
    }

    #[test]
    fn a_schema_of_another_release_is_a_cause() {
        let vitals = Vitals::default();
        let seen = Observations { schema: Some("too old: run outbox migrate"), ..healthy(&vitals) };
        assert_eq!(causes(&seen), ["schema: too old: run outbox migrate"]);
    }

    /// It has lasted for so long, and the last call was so long ago.
    fn silence(lasts: u64, latest: u64) -> Silence {
        let [lasts, latest] = [lasts, latest].map(Duration::from_secs);
        Silence { lasts, latest, why: "refused".to_owned() }
    }

    #[test]
    fn a_database_that_takes_no_writes_is_a_cause_unless_another_replica_wrote_since() {
        let vitals = Vitals::default();
        let told = |silence: Silence, age| {
            causes(&Observations { store: Some(&silence), newest_term: Some(began(age)), ..healthy(&vitals) })
        };
        assert_eq!(told(silence(10, 1), 100), Vec::<String>::new());
        assert_eq!(told(silence(11, 1), 100), ["database: nothing could be written for 11s: refused"]);
        // It was refused before that term too, and is refused since.
        assert_eq!(told(silence(60, 1), 20), ["database: nothing could be written for 20s: refused"]);
        // It was refused, and has not tried since another began.
        assert_eq!(told(silence(60, 30), 20), Vec::<String>::new());
    }

    #[test]
    fn marks_that_cannot_be_written_are_a_cause_and_told_once() {
        let vitals = Vitals::default();
        let stuck = Stuck { lasts: Duration::from_secs(11), why: "permission denied for table outbox".to_owned() };
        let seen = Observations { marks: Some(&stuck), store: Some(&silence(60, 1)), ..healthy(&vitals) };
        let told = "marks: what came of messages could not be recorded for 11s, and none is claimed meanwhile: permission denied \
                    for table outbox";
        assert_eq!(causes(&seen), [told]);
    }

    fn held(age_s: Option<i64>, dead_rows: i64) -> HeldBack {
        let holder = Snapshot {
            what: "the session 42".to_owned(),
            who: "report, ada, idle in transaction".to_owned(),
            age_ms: age_s.map(|seconds| seconds * 1000),
            transactions: Some(9),
            end: "SELECT pg_terminate_backend(42)".to_owned(),
            ..Snapshot::default()
        };
        let missing_right = age_s.is_none().then_some("GRANT pg_read_all_stats");
        HeldBack { dead_rows, holder: Some(holder), missing_right }
    }

    #[test]
    fn a_snapshot_is_a_cause_where_messages_age_and_dead_rows_pile_up_behind_it() {
        let told = |lag, held: &HeldBack| causes(&Observations { held_back: Some(held), ..healthy(&lagging(lag)) });
        let expected = "snapshot: a message has been due for 1m, and the session 42 (report, ada, idle in transaction) has \
                        held a snapshot for 10m: 10000 dead rows cannot be removed, and each poll steps over them; end it \
                        with SELECT pg_terminate_backend(42)";
        assert_eq!(told(60, &held(Some(600), 10_000)), [expected]);
        assert_eq!(told(0, &held(Some(600), 10_000)), Vec::<String>::new(), "all flows");
        assert_eq!(told(60, &held(Some(59), 10_000)), Vec::<String>::new(), "it is younger than the trouble");
        assert_eq!(told(60, &held(Some(600), 9_999)), Vec::<String>::new(), "there is little to step over");
        assert_eq!(told(60, &HeldBack { dead_rows: 10_000, ..HeldBack::default() }), Vec::<String>::new());
        let [unseen] = &told(60, &held(None, 10_000))[..] else { panic!("one cause") };
        assert!(
            unseen.contains("for 9 transactions; GRANT pg_read_all_stats to this role tells since when"),
            "{unseen}"
        );
    }

    #[test]
    fn a_lease_store_is_missed_once_a_lease_would_have_expired() {
        let vitals = Vitals::default();
        let told = |silence: Silence| causes(&Observations { lease_store: Some(&silence), ..healthy(&vitals) });
        assert_eq!(told(silence(10, 1)), Vec::<String>::new());
        assert_eq!(told(silence(11, 1)), ["lease store: no answer for 11s, so nobody can be elected: refused"]);
    }
}
