//! Marks: the results of attempts, written in groups. While one group is being written the next collects.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use outbox_schema::MessageId;
use outbox_store::mark::MarkReport;
use outbox_store::{ClaimId, InDoubtPolicy, Lineages, Mark, Outcome, Store, StoreError, Verdict};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::backoff::Backoff;
use crate::destinations::Destinations;
use crate::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::poller::claim::SETTLING_MARGIN;
use crate::poller::journal::Journal;
use crate::poller::marker_health::MarkerHealth;
use crate::poller::measure::Measure;
use crate::poller::quarantine::Quarantine;

/// The most marks of one group.
const GROUP: usize = 1024;

/// How long a group waits, after its first mark, to become worth a round trip: while slots are plenty, and while most
/// are taken.
const LINGER: Duration = Duration::from_millis(5);
const LINGER_WHEN_BUSY: Duration = Duration::from_millis(2);

/// How often the waiting group is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// When marks are tried again that the database refuses by themselves, and how many of them: others wait meanwhile.
const REFUSED_AGAIN: Duration = Duration::from_mins(1);
const REFUSED_AT_ONCE: usize = 16;

/// When marks are tried again whose rows another transaction has locked.
const HELD_AGAIN: Duration = Duration::from_millis(250);

/// Why a delivery is recorded whose row is locked.
const HELD: &str = "another transaction has locked the row";

/// The longest wait before marks are tried again, without jitter. The database may be back meanwhile, and the next poller at work: it
/// must not take for in doubt what this one has on hand.
const AGAIN_AT_THE_LATEST: Duration = Duration::from_millis(450);
const _: () = assert!(2 * AGAIN_AT_THE_LATEST.as_millis() < SETTLING_MARGIN.as_millis());

/// The result of an attempt on its way to the database.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The mark to write.
    pub mark: Mark,
    /// Whether another message may wait for this one: the next of its ordering key, or the one that tells of it.
    pub frees: bool,
}

/// Marks that are written together.
#[derive(Debug)]
struct Group {
    marks: Vec<Mark>,
    /// Whether another message may wait for one of these.
    frees: bool,
}

impl Group {
    fn of(results: impl IntoIterator<Item = Sent>) -> Self {
        let mut frees = false;
        let marks = results.into_iter().map(|sent| {
            frees |= sent.frees;
            sent.mark
        });
        Self { marks: marks.collect(), frees }
    }

    /// The group without those whose rows are locked, and those.
    fn without(self, held: &[MessageId]) -> (Self, Vec<Mark>) {
        let (held, marks) = self.marks.into_iter().partition(|mark| held.contains(&mark.id));
        (Self { marks, frees: self.frees }, held)
    }

    /// The group without its latter half, and that half.
    fn halves(mut self) -> [Self; 2] {
        let rest = Self { marks: self.marks.split_off(self.marks.len() / 2), frees: self.frees };
        [self, rest]
    }
}

/// Marks that are tried again later.
#[derive(Debug, Default)]
struct Unwritten {
    /// Those that the database refuses by themselves.
    refused: Vec<Group>,
    /// Those whose rows another transaction has locked.
    held: Vec<Mark>,
    /// Those whose delivery is recorded beside the messages.
    recorded: HashSet<MessageId>,
}

/// Writes the results of attempts. The process has one marker, which goes on until all results are written.
#[derive(Debug)]
pub(crate) struct Marker {
    /// The outbox database.
    pub store: Arc<dyn Store>,
    /// The slots, which a mark frees.
    pub in_flight: Arc<InFlight>,
    /// What is kept of marks, and which rows are gone.
    pub journal: Arc<Journal>,
    /// Says when the database is another one.
    pub lineages: Arc<Lineages>,
    /// Learns which quarantined rows did no harm.
    pub quarantine: Arc<Quarantine>,
    /// Learns which pauses are written.
    pub destinations: Arc<Destinations>,
    /// Notified when the next message of an ordering key may have become due.
    pub wakeup: Arc<Notify>,
    /// Knows whether marks can be written.
    pub health: Arc<MarkerHealth>,
    /// How many marks a group may have, as the database bears.
    pub size: Measure,
    /// Where refused marks are counted.
    pub metrics: Arc<Metrics>,
}

impl Marker {
    /// Runs, and says so should it panic: a replica that cannot mark is not alive, claims nothing and does not campaign.
    pub(crate) async fn run_watched(self, sent: mpsc::UnboundedReceiver<Sent>) {
        let health = self.health.clone();
        if AssertUnwindSafe(self.run(sent)).catch_unwind().await.is_err() {
            tracing::error!("marker.died: this replica marks nothing any more; restart it");
            health.died("the task that marks messages has panicked: restart this replica, and see its log".to_owned());
        }
    }

    /// Writes the results that come through `sent`, until every sender is gone.
    async fn run(self, mut sent: mpsc::UnboundedReceiver<Sent>) {
        let mut group = Vec::with_capacity(GROUP);
        let mut unwritten = Unwritten::default();
        let mut refused_again = every(REFUSED_AGAIN);
        let mut held_again = every(HELD_AGAIN);
        loop {
            self.health.holds(unwritten.held.iter().map(|mark| mark.id));
            let received = tokio::select! {
                received = sent.recv_many(&mut group, GROUP) => received,
                _ = refused_again.tick(), if !unwritten.refused.is_empty() => {
                    // Those that are refused again go behind the others.
                    let some = unwritten.refused.drain(..unwritten.refused.len().min(REFUSED_AT_ONCE)).collect();
                    self.write(some, &mut sent, &mut unwritten).await;
                    continue;
                }
                _ = held_again.tick(), if !unwritten.held.is_empty() => {
                    self.write_held(&mut sent, &mut unwritten).await;
                    continue;
                }
            };
            if received == 0 {
                break;
            }
            self.gather(&mut sent, &mut group).await;
            self.write(vec![Group::of(group.drain(..))], &mut sent, &mut unwritten).await;
        }
        let refused = std::mem::take(&mut unwritten.refused);
        self.write(refused, &mut sent, &mut unwritten).await;
        while !unwritten.held.is_empty() {
            self.write_held(&mut sent, &mut unwritten).await;
            tokio::time::sleep(HELD_AGAIN).await;
        }
    }

    /// Tries the marks again whose rows were locked. Of those that are locked still, deliveries are recorded.
    async fn write_held(&self, sent: &mut mpsc::UnboundedReceiver<Sent>, unwritten: &mut Unwritten) {
        let marks = std::mem::take(&mut unwritten.held);
        self.write(vec![Group { marks, frees: true }], sent, unwritten).await;
        let Unwritten { held, recorded, .. } = unwritten;
        self.record_deliveries(held, HELD, recorded).await;
    }

    /// Adds to a group until it is worth a round trip. Only the slots and the next message of an ordering key wait for
    /// a mark. So a group that may have freed such a message does not wait. The group is looked at now and then: to be
    /// woken for each result would cost more than to take it.
    async fn gather(&self, sent: &mut mpsc::UnboundedReceiver<Sent>, group: &mut Vec<Sent>) {
        let began = Instant::now();
        let worthwhile = self.in_flight.worth_marking().min(GROUP);
        let linger = if self.in_flight.is_busy() { LINGER_WHEN_BUSY } else { LINGER };
        loop {
            while group.len() < GROUP
                && let Ok(one) = sent.try_recv()
            {
                group.push(one);
            }
            if group.len() >= worthwhile || began.elapsed() >= linger || group.iter().any(|sent| sent.frees) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Writes groups, however long it takes. A group that took too long is split, and smaller ones follow. One that the
    /// database refuses for its data is split until the bad row is alone. That row then loses the texts that came from
    /// outside. A mark that is still refused, as by a trigger that the application added, is given back: it must not keep
    /// the others waiting. Its slot stays taken, so that this term does not send the row again. Where it tells of a
    /// delivery, that is recorded beside the messages. Nor do others wait for a mark whose row is locked.
    async fn write(&self, mut groups: Vec<Group>, sent: &mut mpsc::UnboundedReceiver<Sent>, unwritten: &mut Unwritten) {
        let Unwritten { refused, held, recorded } = unwritten;
        let mut backoff = Backoff::of_at_most(AGAIN_AT_THE_LATEST);
        while let Some(mut group) = groups.pop() {
            let size = group.marks.len() as u64;
            if size > self.size.of(size) {
                let [half, rest] = group.halves();
                groups.extend([rest, half]);
                continue;
            }
            let began = Instant::now();
            let error = match self.mark(&group).await {
                Ok(report) => {
                    self.health.worked();
                    self.size.worked(size, began.elapsed());
                    if !report.held.is_empty() {
                        let (rest, locked) = group.without(&report.held);
                        tracing::warn!(messages = locked.len(), "mark.held: another transaction has locked their rows");
                        // Its pause is written.
                        held.extend(locked.into_iter().map(|mark| Mark { pause: None, ..mark }));
                        group = rest;
                        if group.marks.is_empty() {
                            continue;
                        }
                    }
                    self.landed(&group, &report);
                    if !recorded.is_empty() {
                        group.marks.iter().for_each(|mark| _ = recorded.remove(&mark.id));
                    }
                    self.journal.marked(group.marks, &report.fenced);
                    continue;
                }
                Err(error @ StoreError::Refused { .. }) if group.marks.len() > 1 => {
                    tracing::warn!(messages = group.marks.len(), %error, "mark.group_refused");
                    let [half, rest] = group.halves();
                    groups.extend([rest, half]);
                    continue;
                }
                Err(error @ StoreError::Refused { .. }) => {
                    // The database answers. What it refuses is this one mark.
                    self.health.worked();
                    let lost_texts = group.marks.iter_mut().any(without_foreign_texts);
                    let message_id = group.marks.first().map(|mark| mark.id.0);
                    tracing::error!(message_id, %error, lost_texts, "mark.refused");
                    if lost_texts {
                        groups.push(group);
                    } else {
                        self.record_deliveries(&group.marks, &error.to_string(), recorded).await;
                        refused.push(group);
                    }
                    continue;
                }
                Err(error @ (StoreError::Unavailable { .. } | StoreError::Fenced { .. })) => error,
            };
            self.size.failed(size, began.elapsed());
            tracing::error!(
                messages = group.marks.len(),
                first_message_id = group.marks.first().map(|mark| mark.id.0),
                %error,
                "mark.failed"
            );
            self.health.failed(error.to_string());
            tokio::time::sleep(backoff.next()).await;
            // What has come meanwhile is written too, and until then recorded. The group that failed is tried first.
            while let Some(group) = waiting(sent) {
                groups.insert(0, group);
            }
            groups.push(group);
            self.record_unmarked(&groups, &error, recorded).await;
        }
    }

    /// Writes a group, and the pauses that its attempts led to, in the database of now. Where that failed over and does not know a
    /// row, nothing is written of it: another message may have its id.
    async fn mark(&self, group: &Group) -> Result<MarkReport, StoreError> {
        let mut same = self.lineages.watch();
        self.lineages.until_mended().await;
        let known = self.journal.without_lost(&group.marks);
        let marks = known.as_ref().unwrap_or(&group.marks);
        let finished = self.in_flight.finished_by(&group.marks);
        tokio::select! {
            biased;
            () = same.changed() => {
                Err(StoreError::Unavailable { doing: "marking messages", source: "the database failed over".into() })
            }
            report = self.write_marks(marks, &finished) => report,
        }
    }

    async fn write_marks(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        let pauses: Vec<_> = marks.iter().filter_map(|mark| mark.pause.as_ref()).collect();
        if pauses.is_empty() {
            return self.store.mark(marks, finished).await;
        }
        let _no_pause_ends = self.destinations.pauses().await;
        let report = self.store.mark(marks, finished).await?;
        self.destinations.written(&pauses);
        Ok(report)
    }

    /// Once marks have failed for longer than `lease.ttl`, records the deliveries among them.
    async fn record_unmarked(&self, groups: &[Group], why: &StoreError, recorded: &mut HashSet<MessageId>) {
        if self.health.stuck().is_none() || !why.is_an_answer() {
            return;
        }
        for Group { marks, .. } in groups {
            self.record_deliveries(marks, &why.to_string(), recorded).await;
        }
    }

    /// Records the deliveries among marks that could not be written, beside the messages: this process may end before it can mark
    /// them, and then nothing else would know.
    async fn record_deliveries(&self, marks: &[Mark], why: &str, recorded: &mut HashSet<MessageId>) {
        let is_new = |mark: &&Mark| matches!(mark.verdict, Verdict::Success { .. }) && !recorded.contains(&mark.id);
        let deliveries: Vec<Mark> = marks.iter().filter(is_new).cloned().collect();
        if deliveries.is_empty() {
            return;
        }
        match self.store.record_unmarked(&deliveries, why).await {
            Ok(()) => recorded.extend(deliveries.iter().map(|mark| mark.id)),
            Err(error) => tracing::warn!(
                messages = deliveries.len(),
                first_message_id = deliveries.first().map(|mark| mark.id.0),
                %error,
                "mark.unrecorded: these were delivered, and the database takes no word of it"
            ),
        }
    }

    fn landed(&self, Group { marks, frees }: &Group, report: &MarkReport) {
        self.in_flight.release(marks);
        if *frees {
            self.wakeup.notify_one();
        }
        self.metrics.in_flight(self.in_flight.count());
        self.quarantine.survived(marks);
        // A fenced row was settled, and counted, by another poller.
        let in_doubt = marks.iter().filter(|mark| mark.attempt.outcome == Outcome::InDoubt.as_str());
        for mark in in_doubt.filter(|mark| !report.fenced.contains(&mark.id)) {
            self.metrics.in_doubt(done_by(&mark.verdict), 1);
        }
        if report.fenced.is_empty() {
            return;
        }
        // A later term may have settled the row, or somebody has changed or deleted it. Whether the term is over the next claim shows.
        self.metrics.fenced(report.fenced.len() as u64);
        for mark in marks.iter().filter(|mark| report.fenced.contains(&mark.id)) {
            tracing::warn!(
                message_id = mark.id.0,
                epoch = mark.attempt.epoch.0,
                outcome = mark.attempt.outcome,
                "mark.fenced"
            );
        }
    }
}

/// A clock that strikes in this rhythm, however late it was heard.
fn every(period: Duration) -> Interval {
    let mut clock = tokio::time::interval_at(Instant::now() + period, period);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    clock
}

/// The next group of those results that wait already.
fn waiting(sent: &mut mpsc::UnboundedReceiver<Sent>) -> Option<Group> {
    let group = Group::of(std::iter::from_fn(|| sent.try_recv().ok()).take(GROUP));
    (!group.marks.is_empty()).then_some(group)
}

/// What became of a row whose attempt ended in doubt. A row without attempts left is a dead letter, whatever the
/// policy.
fn done_by(verdict: &Verdict) -> InDoubtPolicy {
    match verdict {
        Verdict::Dead { .. } => InDoubtPolicy::DeadLetter,
        Verdict::Success { .. }
        | Verdict::Retry { .. }
        | Verdict::Deferred { .. }
        | Verdict::Spared { .. }
        | Verdict::Unsent => InDoubtPolicy::Resend,
    }
}

/// Removes the texts that came from outside. Returns whether there were any.
fn without_foreign_texts(mark: &mut Mark) -> bool {
    const LOST: &str = "the database refused the text of the error; see the log";
    let receipt = if let Verdict::Success { receipt } = &mut mark.verdict { receipt.take() } else { None };
    let error = mark.error.as_deref().is_some_and(|error| error != LOST);
    let lost = receipt.is_some() || error || mark.status_code.is_some() || mark.attempt.excerpt.is_some();
    mark.error = mark.error.is_some().then(|| LOST.to_owned());
    (mark.status_code, mark.attempt.excerpt) = (None, None);
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{SteppedClock, TermStore, mark, message, metrics};

    const SLOTS: i64 = 64;

    /// A marker with this many slots taken, under a claim.
    fn marker(taken: i64) -> (Marker, ClaimId) {
        let (in_flight, wakeup) = (Arc::new(InFlight::new(64)), Arc::<Notify>::default());
        let claim = ClaimId::mint();
        let messages: Vec<_> = (0..taken).map(message).collect();
        let _ = in_flight.admit(claim, messages);
        let marker = Marker {
            store: TermStore::new(&SteppedClock::new(), Vec::new()),
            quarantine: Arc::new(Quarantine::new(in_flight.clone(), wakeup.clone())),
            in_flight,
            journal: Arc::default(),
            lineages: Arc::default(),
            destinations: Arc::new(Destinations::new(64, 1_000, std::collections::HashMap::new())),
            wakeup,
            health: Arc::new(MarkerHealth::new(Duration::from_secs(10))),
            size: Measure::new(Duration::from_secs(10)),
            metrics: metrics(),
        };
        (marker, claim)
    }

    /// How long the first result of a group waits for others, with this many slots taken.
    async fn waited(taken: i64, results: i64, frees: bool) -> Duration {
        let (marker, claim) = marker(taken);
        let (sender, mut sent) = mpsc::unbounded_channel();
        for id in 0..results {
            assert!(sender.send(Sent { mark: mark(claim, id), frees }).is_ok());
        }
        let began = Instant::now();
        let mut group = Vec::new();
        marker.gather(&mut sent, &mut group).await;
        assert_eq!(group.len(), usize::try_from(results).unwrap_or_default());
        began.elapsed()
    }

    #[test]
    fn a_doubt_that_somebody_else_has_settled_is_not_counted_again() {
        let (marker, claim) = marker(2);
        let in_doubt = |id| {
            let mut mark = mark(claim, id);
            mark.attempt.outcome = Outcome::InDoubt.as_str();
            mark
        };
        let fenced = MarkReport { fenced: vec![MessageId(1)], held: Vec::new() };
        marker.landed(&Group { marks: vec![in_doubt(0), in_doubt(1)], frees: false }, &fenced);
        let shown = marker.metrics.render().unwrap_or_default();
        assert!(shown.contains("outbox_in_doubt_total{policy=\"resend\"} 1"), "{shown}");
        assert!(shown.contains("outbox_fenced_marks_total 1"), "{shown}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_marker_that_panics_says_that_nothing_is_marked_any_more() {
        let (marker, claim) = marker(1);
        let store = TermStore::new(&SteppedClock::new(), Vec::new());
        store.give_way();
        let marker = Marker { store, ..marker };
        let health = marker.health.clone();
        let (sender, sent) = mpsc::unbounded_channel();
        assert!(sender.send(Sent { mark: mark(claim, 0), frees: true }).is_ok());
        marker.run_watched(sent).await;
        assert!(health.death().is_some_and(|why| why.contains("restart this replica")));
        assert!(health.stuck().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_mark_that_the_database_refuses_by_itself_does_not_count_as_a_database_that_fails() {
        let (marker, claim) = marker(1);
        let store = TermStore::new(&SteppedClock::new(), Vec::new());
        store.answer_marks([
            Err(StoreError::Unavailable { doing: "marking", source: "it is away".into() }),
            Err(StoreError::Refused { doing: "marking", source: "by a trigger".into() }),
        ]);
        let marker = Marker { store, ..marker };
        let (_sender, mut sent) = mpsc::unbounded_channel();
        let group = Group::of([Sent { mark: mark(claim, 0), frees: true }]);
        let mut unwritten = Unwritten::default();
        marker.write(vec![group], &mut sent, &mut unwritten).await;
        assert_eq!((unwritten.refused.len(), marker.health.fails()), (1, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_that_took_too_long_is_written_in_halves() {
        let (marker, claim) = marker(8);
        let store = TermStore::new(&SteppedClock::new(), Vec::new());
        store.take_a_second_for_each_mark_and_at_most(Duration::from_secs(3));
        let (store_seen, in_flight) = (store.clone(), marker.in_flight.clone());
        let marker = Marker { store, ..marker };
        let (_sender, mut sent) = mpsc::unbounded_channel();
        let group = Group::of((0..8).map(|id| Sent { mark: mark(claim, id), frees: true }));
        marker.write(vec![group], &mut sent, &mut Unwritten::default()).await;
        assert_eq!(store_seen.marked(), [8, 4, 2, 2, 4, 2, 2]);
        assert!(in_flight.is_quiet() && !marker.health.fails());
    }

    #[tokio::test(start_paused = true)]
    async fn marks_whose_rows_are_locked_keep_their_slots_and_are_tried_until_they_are_written() {
        let (marker, claim) = marker(2);
        let store = TermStore::new(&SteppedClock::new(), Vec::new());
        let locked = || Ok(MarkReport { held: vec![MessageId(1)], fenced: Vec::new() });
        store.answer_marks([locked(), locked()]);
        let (store_seen, in_flight) = (store.clone(), marker.in_flight.clone());
        let marker = Marker { store, ..marker };
        let (sender, sent) = mpsc::unbounded_channel();
        for id in 0..2 {
            let mark = Mark { verdict: Verdict::Success { receipt: None }, ..mark(claim, id) };
            assert!(sender.send(Sent { mark, frees: true }).is_ok());
        }
        let running = tokio::spawn(marker.run(sent));
        tokio::time::sleep(HELD_AGAIN / 2).await;
        assert_eq!(in_flight.excluded(), [MessageId(1)]);
        // Also while the process ends.
        drop(sender);
        assert!(running.await.is_ok());
        assert_eq!((in_flight.excluded().len(), store_seen.recorded()), (0, vec![MessageId(1)]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_waits_less_while_most_slots_are_taken() {
        assert_eq!(waited(SLOTS / 2, 1, false).await, LINGER);
        assert_eq!(waited(SLOTS / 2 + 1, 1, false).await, LINGER_WHEN_BUSY);
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_that_is_worth_a_round_trip_or_frees_an_ordering_key_does_not_wait() {
        assert_eq!(waited(SLOTS, SLOTS / 4, false).await, Duration::ZERO);
        assert_eq!(waited(SLOTS, 1, true).await, Duration::ZERO);
    }
}
