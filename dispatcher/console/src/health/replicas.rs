//! The replicas of an outbox, for `outbox replicas`, `outbox status` and the admin API: who polls, by what, and whose settings
//! differ.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use outbox_desk::{CurrentTerm, DeskError, RefusedSettings, ReplicaEntry, RunsBy, TermEntry};
use outbox_store::Database;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::health::fleet::differences;
use crate::health::presence::FIRST;

/// A replica writes its row each 30 s, and the database has 5 s to take it.
const SILENT: Duration = Duration::from_secs(40);

/// Who polled for less within the time that was counted says nothing of a minute.
const SHORTEST: Duration = FIRST;

/// A replica, and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplicaStatus {
    /// The replica, as it describes itself.
    #[serde(flatten)]
    pub replica: ReplicaEntry,
    /// Whether it was seen in the last 90 seconds. A replica writes its row twice a minute.
    pub runs: bool,
    /// The shards that it polls, as the database shows it. A follower polls none.
    pub polls: Vec<i32>,
    /// What it runs by that the poller does not run by. Empty where all is the same, or nothing is known.
    pub differs: Vec<String>,
}

/// The replicas of an outbox: those that run, and those that were killed within a day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replicas(Vec<ReplicaStatus>);

/// Attempts that ended, by the counts of the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PerMinute {
    /// Messages that receivers accepted in a minute.
    pub delivered: i64,
    /// Attempts that failed in a minute.
    pub failed: i64,
    /// The age of the oldest count, in milliseconds.
    pub seen_ms: i64,
}

/// When the replica that led a term wrote its row last, where it has one.
pub fn seen_at<'a>(term: &TermEntry, replicas: &'a [ReplicaStatus]) -> Option<&'a str> {
    let its = replicas.iter().find(|replica| replica.replica.row.holds(&term.holder));
    its.map(|replica| replica.replica.seen_at.as_str())
}

impl ReplicaStatus {
    /// Whether the replica has not written its row when it should have, and may have been killed.
    pub fn is_silent(&self) -> bool {
        self.runs && self.replica.row.seen() > SILENT
    }

    /// The settings that the replica read last and refused, where it runs.
    pub fn refused(&self) -> Option<&RefusedSettings> {
        self.replica.runs_by.as_ref().filter(|_| self.runs)?.refused.as_ref()
    }
}

impl Replicas {
    /// Reads the rows of all replicas, and the terms that go on.
    pub async fn of(database: &Database) -> Result<Self, DeskError> {
        Ok(Self::from(outbox_desk::fleet(database).await?, &outbox_desk::open_terms(database).await?))
    }

    /// The replicas as one of them told of all.
    pub fn told(replicas: Vec<ReplicaStatus>) -> Self {
        Self(replicas)
    }

    fn from(entries: Vec<ReplicaEntry>, open: &[CurrentTerm]) -> Self {
        let status = |replica: ReplicaEntry| {
            let runs = replica.row.runs();
            let its = open.iter().filter(|term| runs && replica.row.holds(&term.holder));
            ReplicaStatus { runs, polls: its.map(|term| term.shard).collect(), differs: Vec::new(), replica }
        };
        let mut replicas = Self(entries.into_iter().map(status).collect());
        if let Some((hash, by)) = replicas.measure() {
            for other in replicas
                .0
                .iter_mut()
                .filter(|replica| replica.replica.settings_hash.as_ref().is_some_and(|its| *its != hash))
            {
                other.differs = match &other.replica.runs_by {
                    Some(its) => differences(its, &by),
                    None => vec!["other settings".to_owned()],
                };
            }
        }
        replicas
    }

    /// All of them, by name.
    pub fn all(&self) -> &[ReplicaStatus] {
        &self.0
    }

    /// All replicas that have a row.
    pub fn into_all(self) -> Vec<ReplicaStatus> {
        self.0
    }

    /// Those that run.
    pub fn running(&self) -> impl Iterator<Item = &ReplicaStatus> {
        self.0.iter().filter(|replica| replica.runs)
    }

    /// What the replica that was seen last says keeps it from its work, behind the name of the replica.
    pub fn newest_trouble(&self) -> Option<(&str, &str)> {
        let troubled =
            self.running().filter_map(|status| Some((&status.replica.row, status.replica.trouble.as_ref()?)));
        let newest = troubled.min_by_key(|(row, _)| row.seen_ms);
        newest.map(|(row, trouble)| (row.name.as_str(), trouble.as_str()))
    }

    /// The replica of a holder.
    pub fn holder(&self, holder: &str) -> Option<&ReplicaStatus> {
        self.0.iter().find(|replica| replica.replica.row.holds(holder))
    }

    /// The name of the poller of a shard, where it runs without this channel, and another replica that runs has it.
    pub fn poller_without(&self, shard: i32, channel: &str) -> Option<&str> {
        let has =
            |replica: &ReplicaStatus| replica.replica.runs_by.as_ref().map(|its| its.channels.contains_key(channel));
        let poller = self.running().find(|replica| replica.polls.contains(&shard))?;
        let only_it = has(poller) == Some(false) && self.running().any(|replica| has(replica) == Some(true));
        only_it.then_some(poller.replica.row.name.as_str())
    }

    /// What the fleet runs by: the poller, else a replica that runs, else the one that was seen last. None where no
    /// replica says it.
    pub fn runs_by(&self) -> Option<&RunsBy> {
        let told = self.0.iter().filter_map(|replica| Some((replica, replica.replica.runs_by.as_ref()?)));
        let last = |(replica, _): &(&ReplicaStatus, &RunsBy)| (replica.polls.is_empty(), replica.replica.row.seen_ms);
        told.min_by_key(last).map(|(_, by)| by)
    }

    /// The settings that the others are compared with.
    fn measure(&self) -> Option<(String, RunsBy)> {
        self.runs_by().map(|by| (by.settings_hash(), by.clone()))
    }

    /// How much the replicas do in a minute in which one polls: by their own counts, and by the log of terms, which says for how long
    /// of the time that they counted they polled. The counts of one that ended are gone, and so is its time. Those of a silent one may
    /// be over. None until the others have polled for long enough.
    pub fn per_minute(&self, terms: &[TermEntry]) -> Option<PerMinute> {
        let heard: Vec<_> =
            self.running().filter(|replica| !replica.is_silent()).map(|replica| &replica.replica).collect();
        let polled = |shard: i32| -> Duration {
            heard.iter().map(|replica| polled(replica, terms.iter().filter(|term| term.shard == shard))).sum()
        };
        let shards: BTreeSet<_> = terms.iter().map(|term| term.shard).collect();
        let counted = shards.into_iter().map(polled).max().filter(|counted| *counted >= SHORTEST)?;
        let counted_ms = i64::try_from(counted.as_millis()).unwrap_or(i64::MAX);
        let rate = |count: fn(&ReplicaEntry) -> i64| {
            heard.iter().map(|replica| count(replica)).sum::<i64>().saturating_mul(60_000) / counted_ms
        };
        let polling = heard.iter().filter(|replica| polled_at_all(replica, terms));
        let seen_ms = polling.map(|replica| replica.row.seen_ms).max()?;
        Some(PerMinute { delivered: rate(|its| its.delivered), failed: rate(|its| its.failed), seen_ms })
    }

    /// Whether an open term goes on, as far as the database shows it: for those who cannot ask the lease store. It does
    /// while its replica runs or, where that has no row, for `longest`.
    pub fn goes_on(&self, open: &CurrentTerm, longest: Duration) -> bool {
        match self.holder(&open.holder) {
            Some(replica) => replica.runs,
            None => Duration::from_millis(open.age_ms.try_into().unwrap_or(0)) <= longest,
        }
    }
}

/// How long a replica led these terms, of the time that the counts in its row are of.
fn polled<'a>(replica: &ReplicaEntry, terms: impl Iterator<Item = &'a TermEntry>) -> Duration {
    let at = |time: &str| humantime::parse_rfc3339_weak(time).ok();
    let counted = Duration::from_millis(replica.counted_ms.try_into().unwrap_or(0));
    let Some(to) = at(&replica.seen_at) else { return Duration::ZERO };
    let from = to - counted;
    let within = |term: &TermEntry| {
        let began = at(&term.started_at)?.max(from);
        let ends = [&term.ended_at, &term.next_started_at].into_iter().filter_map(|end| at(end.as_deref()?));
        ends.fold(to, SystemTime::min).duration_since(began).ok()
    };
    terms.filter(|term| replica.row.holds(&term.holder)).filter_map(within).sum()
}

fn polled_at_all(replica: &ReplicaEntry, terms: &[TermEntry]) -> bool {
    polled(replica, terms.iter()) > Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn replica(id: &str, lease_store: &str, seen_ms: i64) -> ReplicaEntry {
        fixtures::replica(id, fixtures::runs_by(lease_store, &[("lease.provider", lease_store)]), seen_ms)
    }

    fn term(holder: &str, age: Duration) -> CurrentTerm {
        let age_ms = age.as_millis().try_into().unwrap_or(0);
        CurrentTerm { shard: 0, epoch: 7, holder: holder.to_owned(), started_at: String::new(), age_ms }
    }

    #[test]
    fn the_poller_is_the_replica_whose_term_goes_on_and_the_others_are_compared_with_it() {
        let rows = vec![replica("a", "redis://x", 10), replica("b", "table", 20), replica("c", "table", 30)];
        let replicas = Replicas::from(rows, &[term("b.1", Duration::ZERO)]);
        let polls: Vec<_> = replicas.all().iter().map(|replica| replica.polls.as_slice()).collect();
        assert_eq!(polls, [&[][..], &[0], &[]]);
        assert_eq!(replicas.runs_by().map(|by| by.lease_store.as_str()), Some("table"));
        let differs: Vec<_> = replicas.all().iter().map(|replica| replica.differs.join("; ")).collect();
        assert_eq!(differs, ["lease store redis://x, not table", "", ""]);
    }

    #[test]
    fn a_replica_that_was_killed_polls_nothing_and_is_not_counted() {
        let rows = vec![replica("a", "table", 600_000), replica("b", "table", 1_000)];
        let replicas = Replicas::from(rows, &[term("a.1", Duration::ZERO)]);
        assert!(replicas.all().iter().all(|replica| replica.polls.is_empty()), "{replicas:?}");
        let terms = [led("a.1", "09:00", Some("09:40")), led("b.1", "09:40", None)];
        let of_one = Some(PerMinute { delivered: 150, failed: 3, seen_ms: 1_000 });
        assert_eq!(replicas.per_minute(&terms), of_one);
        assert_eq!(Replicas::default().per_minute(&terms), None);
        let rows = vec![replica("a", "table", 60_000), replica("b", "table", 1_000)];
        assert_eq!(Replicas::from(rows, &[]).per_minute(&terms), of_one, "the first is silent");
    }

    /// A term in the hour of the fixtures, whose rows were written at 10:00 and count the half minute before.
    fn led(holder: &str, began: &str, ended: Option<&str>) -> TermEntry {
        let at = |time: &str| format!("2026-05-01T14:{time}Z");
        TermEntry {
            shard: 0,
            epoch: 1,
            holder: holder.to_owned(),
            started_at: at(began),
            ended_at: ended.map(at),
            ended_because: None,
            claimed: None,
            delivered: None,
            failed: None,
            in_doubt: None,
            instance: None,
            version: None,
            served_by: None,
            next_served_by: None,
            next_started_at: None,
        }
    }

    #[test]
    fn who_followed_while_another_polled_that_is_gone_says_nothing_of_a_minute_until_it_has_polled_itself() {
        let follower = || ReplicaEntry { delivered: 0, failed: 0, ..replica("b", "table", 1_000) };
        let gone = led("a.1", "09:00", Some("09:57"));
        let rate = |rows: Vec<ReplicaEntry>, began: &str| {
            let replicas = Replicas::from(rows, &[]);
            replicas.per_minute(&[led("b.1", began, None), gone.clone()]).map(|minute| minute.delivered)
        };
        assert_eq!(rate(vec![follower()], "10:01"), None, "its row is of before its term");
        assert_eq!(rate(vec![follower()], "09:58"), None, "two seconds of polling");
        let polled = ReplicaEntry { delivered: 1_000, ..follower() };
        assert_eq!(rate(vec![polled.clone()], "09:50"), Some(6_000), "a hundred a second for ten seconds");
        let other = ReplicaEntry { delivered: 2_000, ..replica("a", "table", 2_000) };
        assert_eq!(rate(vec![other, polled], "09:50"), Some(4_864), "of both, for 37 s in all");
    }

    #[test]
    fn a_replica_that_misses_a_row_is_silent_until_it_is_gone() {
        let rows = [35_000, 41_000, 600_000].map(|seen_ms| replica("a", "table", seen_ms)).into();
        let replicas = Replicas::from(rows, &[]);
        let silent: Vec<_> = replicas.all().iter().map(|replica| (replica.runs, replica.is_silent())).collect();
        assert_eq!(silent, [(true, false), (true, true), (false, false)]);
    }

    #[test]
    fn a_term_lasts_while_its_replica_is_seen_and_without_a_row_as_long_as_a_term_can() {
        let replicas = Replicas::from(vec![replica("a", "table", 10)], &[]);
        let [minute, hour] = [Duration::from_mins(1), Duration::from_hours(1)];
        assert!(replicas.goes_on(&term("a.1", hour), minute));
        assert!(replicas.goes_on(&term("old.1", minute), minute));
        assert!(!replicas.goes_on(&term("old.1", hour), minute));
        let killed = Replicas::from(vec![replica("a", "table", 600_000)], &[]);
        assert!(!killed.goes_on(&term("a.1", minute), minute));
    }
}
