//! What a process knows of the lineage of its outbox database, over all its connections.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{MutexGuard, watch};

use super::lineage::{Lineage, Seen};
use super::server::Server;
use super::standby::Standby;
use crate::Epoch;

/// What a process knows of the lineage of its outbox database. Each new connection tells of its server, and so does the lease store,
/// which is the witness of all replicas. A lineage that was left behind is not gone back to.
#[derive(Debug)]
pub struct Lineages {
    current: watch::Sender<Current>,
    /// The highest epoch that this process, or the witness, has seen.
    epoch: AtomicI64,
    /// Why the last new connection was refused. None once one was taken.
    refused: Mutex<Option<String>>,
    /// What was found last of commits that wait for a standby.
    standby: Mutex<Standby>,
    /// How far what failovers lost is written again.
    repairs: watch::Sender<Repairs>,
    /// See [`Self::meeting`].
    meeting: tokio::sync::Mutex<()>,
}

/// What failovers lost, and was written again.
#[derive(Debug, Default)]
struct Repairs {
    /// Whether somebody in this process writes it again.
    begun: bool,
    /// How often the database became another one.
    changes: u64,
    /// Up to which of these changes it is written.
    done: u64,
}

/// Which servers a connection may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Servers that take writes.
    Writers,
    /// Servers that take none too: a person can look there.
    Readers,
}

/// A database that goes back within this time to where it was is two.
const IN_TURN: Duration = Duration::from_mins(1);

/// The lineage that counts.
#[derive(Debug, Clone)]
struct Current {
    lineage: Option<Lineage>,
    /// The lineage that counted before.
    before: Option<Lineage>,
    /// When it took the place of that.
    changed: Option<Instant>,
    /// Connections that are older are not used any more.
    since: Option<Instant>,
}

impl Default for Lineages {
    fn default() -> Self {
        let current = watch::Sender::new(Current { lineage: None, before: None, changed: None, since: None });
        Self {
            current,
            epoch: AtomicI64::new(0),
            refused: Mutex::default(),
            standby: Mutex::default(),
            repairs: watch::Sender::default(),
            meeting: tokio::sync::Mutex::default(),
        }
    }
}

impl Lineages {
    /// Takes a connection to this server, or says why it is of no use.
    pub(crate) fn admit(&self, server: Server, takes: Takes) -> Result<(), String> {
        let admitted = match (server, takes) {
            (Server::Reader(_), Takes::Readers) => return Ok(()),
            (Server::Reader(why), Takes::Writers) => Err(format!(
                "the server takes no writes ({why}), so no poller can use it; replicas wait for one that does"
            )),
            (Server::Writer(lineage), _) => self.saw(lineage),
        };
        self.refused_for(admitted.as_ref().err());
        admitted
    }

    /// Held by a connection that waits until a server can be known, one at a time.
    pub(crate) async fn meeting(&self) -> MutexGuard<'_, ()> {
        self.meeting.lock().await
    }

    /// Whether this server is another one than all connections have led to so far.
    pub(crate) fn is_new(&self, server: &Server) -> bool {
        matches!(server, Server::Writer(Some(lineage)) if self.current.borrow().lineage.as_ref() != Some(lineage))
    }

    /// Notes why no connection can be used, or that one can. The server may have been another one before, and other connections
    /// lead to it: those are not used any more.
    fn refused_for(&self, why: Option<&String>) {
        let mut refused = self.refused.lock();
        if let Some(error) = why
            && refused.as_ref() != why
        {
            tracing::warn!(error, "database.not_to_poll");
            self.current.send_if_modified(|current| {
                current.since = Some(Instant::now());
                false
            });
        }
        refused.clone_from(&why.cloned());
    }

    /// Whether a connection of this age may still be used.
    pub(crate) fn holds(&self, age: Duration) -> bool {
        let since = self.current.borrow().since;
        since.is_none_or(|since| age <= since.elapsed())
    }

    /// Why the last new connection was refused. None where it was taken.
    pub fn refusal(&self) -> Option<String> {
        self.refused.lock().clone()
    }

    /// Notes which commits wait for a standby, each by a name of its own: `none` where none can wait, and should.
    pub(crate) fn wait_for_standby(&self, waiting: Vec<String>) {
        self.standby.lock().found(waiting);
    }

    /// Notes why the server of now is none to dispatch from, by what it says of its replication. None where it is one.
    pub fn refuse_for(&self, why: Option<String>) {
        self.standby.lock().refuse_for(why);
    }

    /// Why claims wait for a standby that is not there. None where they do not.
    pub fn waits_for_standby(&self) -> Option<&'static str> {
        self.standby.lock().is_gone()
    }

    /// Why the server of now is none to dispatch from, by what it says of its replication. Claims may go on there.
    pub fn not_replicated(&self) -> Option<String> {
        self.standby.lock().refusal()
    }

    /// Says that somebody in this process writes again what a failover lost: after each change no connection is used before
    /// [`Self::mended`] says so.
    pub fn mends(&self) {
        self.repairs.send_modify(|repairs| repairs.begun = true);
    }

    /// Says that nobody does so any more.
    pub fn mends_no_more(&self) {
        self.repairs.send_modify(|repairs| (repairs.begun, repairs.done) = (false, repairs.changes));
    }

    /// How often the database has become another one since [`Self::mends`].
    pub fn changes(&self) -> u64 {
        self.repairs.borrow().changes
    }

    /// Says that what these changes lost is written again, or that nobody is to wait for it any longer.
    pub fn mended(&self, changes: u64) {
        self.repairs.send_modify(|repairs| repairs.done = repairs.done.max(changes));
    }

    /// Waits until what was lost is written again.
    ///
    /// # Cancel safety
    /// Safe: nothing is taken.
    pub async fn until_mended(&self) {
        let _ = self.repairs.subscribe().wait_for(|repairs| repairs.done >= repairs.changes).await;
    }

    /// The lineage of the database now, in words. None where it has none.
    pub fn current(&self) -> Option<String> {
        self.current.borrow().lineage.as_ref().map(ToString::to_string)
    }

    /// The last change, in words, and how long it is ago. None where the database has always been the same.
    pub fn last_change(&self) -> Option<(String, Duration)> {
        let Current { lineage, before, changed, .. } = self.current.borrow().clone();
        Some((format!("from {} to {}", before?, lineage?), changed?.elapsed()))
    }

    /// What this process has seen, for the witness.
    pub fn seen(&self) -> Seen {
        Seen { epoch: self.highest_epoch(), lineage: self.current.borrow().lineage.clone() }
    }

    /// The highest epoch that this process, or the witness, has seen.
    pub fn highest_epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// Hears what the witness knows. A server of an older timeline is left from now on.
    pub fn told(&self, seen: Seen) {
        self.epoch.fetch_max(seen.epoch.0, Ordering::AcqRel);
        let is_left = |left: &Current| matches!((&left.lineage, &seen.lineage), (Some(here), Some(there)) if there.is_after(here));
        if is_left(&self.current.borrow()) {
            tracing::warn!(%seen, "database.left_behind");
            // Should it have been known meanwhile, it is no change.
            let _ = self.saw(seen.lineage);
        }
    }

    /// Begins a term that was minted in this lineage.
    ///
    /// # Errors
    /// Why it may not begin: the lineage was left behind, or is unknown all at once.
    pub fn begin(&self, lineage: Option<Lineage>, epoch: Epoch) -> Result<SameDatabase, String> {
        self.saw(lineage.clone())?;
        let same = self.watch();
        let now = same.0.borrow().lineage.clone();
        if now != lineage {
            let [minted, now] =
                [lineage, now].map(|it| it.map_or_else(|| "nobody knows where".to_owned(), |it| it.to_string()));
            return Err(format!("the epoch was minted at {minted}, and the database is at {now}"));
        }
        self.epoch.fetch_max(epoch.0, Ordering::AcqRel);
        Ok(same)
    }

    /// Tells of the next change.
    pub fn watch(&self) -> SameDatabase {
        SameDatabase(self.current.subscribe())
    }

    /// Another lineage than that of before becomes the one that counts, unless it was left behind.
    fn saw(&self, lineage: Option<Lineage>) -> Result<(), String> {
        let Some(lineage) = lineage else { return Ok(()) };
        let now = Instant::now();
        let mut left_for = None;
        self.current.send_if_modified(|current| match current.lineage.take() {
            Some(newest) if newest.is_after(&lineage) => {
                left_for = Some(newest.to_string());
                current.lineage = Some(newest);
                false
            }
            Some(same) if same == lineage => {
                current.lineage = Some(same);
                false
            }
            before => {
                let changed = before.as_ref().map(|_| now);
                if changed.is_some() {
                    self.repairs.send_modify(|repairs| repairs.changes += u64::from(repairs.begun));
                }
                let turns = current.changed.is_some_and(|changed| changed.elapsed() < IN_TURN);
                if turns && current.before.as_ref() == Some(&lineage) {
                    tracing::warn!(
                        server = %lineage,
                        "database.several_writers: the address of the database leads to two servers in turn, and each change ends the \
                         term; lead it to one writer"
                    );
                }
                *current = Current { lineage: Some(lineage.clone()), before, changed, since: changed.or(current.since) };
                changed.is_some()
            }
        });
        match left_for {
            None => Ok(()),
            Some(newest) => Err(format!(
                "the server goes on with {lineage}, and a replica saw the database at {newest}: this server was left behind. To go \
                 back to it for good, see docs/failover.md"
            )),
        }
    }
}

/// Says whether the outbox database is still the one that it was.
#[derive(Debug, Clone)]
pub struct SameDatabase(watch::Receiver<Current>);

impl SameDatabase {
    /// Whether the database is still the same.
    pub fn holds(&self) -> bool {
        !self.0.has_changed().unwrap_or(false)
    }

    /// Completes once the database is another one. Goes on with that one.
    ///
    /// # Cancel safety
    /// Safe: the change is told by the next call.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn timeline(timeline: u32) -> Lineage {
        Lineage::of_postgres(Some("7"), timeline)
    }

    #[test]
    fn the_first_lineage_is_no_change_and_a_promotion_is_one() {
        let lineages = Lineages::default();
        let before = lineages.watch();
        lineages.admit(Server::Writer(Some(timeline(1))), Takes::Writers).unwrap();
        lineages.admit(Server::Writer(Some(timeline(1))), Takes::Writers).unwrap();
        assert!(before.holds() && lineages.holds(Duration::from_hours(1)) && lineages.last_change().is_none());
        lineages.admit(Server::Writer(Some(timeline(2))), Takes::Writers).unwrap();
        assert!(!before.holds() && lineages.watch().holds());
        assert!(!lineages.holds(Duration::from_hours(1)) && lineages.holds(Duration::ZERO));
        assert_eq!(lineages.last_change().unwrap().0, "from timeline 1 of system 7 to timeline 2 of system 7");
    }

    #[test]
    fn no_connection_and_no_term_goes_back_to_what_was_left() {
        let lineages = Lineages::default();
        lineages.admit(Server::Writer(Some(timeline(2))), Takes::Writers).unwrap();
        let refused = lineages.admit(Server::Writer(Some(timeline(1))), Takes::Writers).unwrap_err();
        assert!(refused.contains("timeline 1") && refused.contains("timeline 2"), "{refused}");
        assert_eq!(lineages.refusal(), Some(refused));
        for unknown in [Some(timeline(1)), None] {
            assert!(lineages.begin(unknown, Epoch(4)).is_err());
        }
        assert!(lineages.begin(Some(timeline(2)), Epoch(4)).is_ok_and(|same| same.holds()));
        lineages.admit(Server::Writer(Some(timeline(2))), Takes::Writers).unwrap();
        assert_eq!(lineages.refusal(), None);
    }

    #[test]
    fn a_server_that_takes_no_writes_is_none_for_a_poller() {
        let lineages = Lineages::default();
        let refused = lineages.admit(Server::Reader("read_only is ON".to_owned()), Takes::Writers).unwrap_err();
        assert!(refused.contains("read_only is ON"), "{refused}");
        assert_eq!(lineages.current(), None);
        lineages.admit(Server::Reader("read_only is ON".to_owned()), Takes::Readers).unwrap();
    }

    #[test]
    fn what_the_witness_knows_ends_the_side_that_was_left_and_no_other() {
        let lineages = Lineages::default();
        lineages.admit(Server::Writer(Some(timeline(1))), Takes::Writers).unwrap();
        let same = lineages.begin(Some(timeline(1)), Epoch(3)).unwrap();
        lineages.told(Seen { epoch: Epoch(3), lineage: Some(timeline(1)) });
        lineages.told(Seen { epoch: Epoch(2), lineage: None });
        let stranger = Lineage::of_postgres(Some("8"), 9);
        lineages.told(Seen { epoch: Epoch(3), lineage: Some(stranger) });
        assert!(same.holds() && lineages.highest_epoch() == Epoch(3));
        lineages.told(Seen { epoch: Epoch(5), lineage: Some(timeline(2)) });
        assert!(!same.holds() && lineages.highest_epoch() == Epoch(5));
        assert!(lineages.admit(Server::Writer(Some(timeline(1))), Takes::Writers).is_err());
    }

    #[tokio::test]
    async fn a_change_is_waited_for_until_what_it_lost_is_written_again_where_somebody_writes_it() {
        let lineages = Lineages::default();
        let promoted = |to| lineages.admit(Server::Writer(Some(timeline(to))), Takes::Writers).unwrap();
        let is_open = || futures_util::FutureExt::now_or_never(lineages.until_mended()).is_some();
        promoted(1);
        promoted(2);
        assert!(is_open());
        lineages.mends();
        assert!(is_open());
        promoted(3);
        let first = lineages.changes();
        promoted(4);
        assert!(!is_open());
        lineages.mended(first);
        assert!(!is_open(), "the second change was not mended");
        lineages.mended(lineages.changes());
        assert!(is_open());
    }

    #[test]
    fn a_database_without_lineage_never_changes() {
        let lineages = Lineages::default();
        let same = lineages.begin(None, Epoch(1)).unwrap();
        lineages.admit(Server::Writer(None), Takes::Writers).unwrap();
        lineages.told(Seen { epoch: Epoch(9), lineage: Some(timeline(9)) });
        assert!(same.holds() && lineages.current().is_none());
    }
}
