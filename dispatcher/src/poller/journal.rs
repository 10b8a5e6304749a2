//! What this process claimed in the last seconds, and what came of it. A database that fails over may have lost the last commits, and
//! then only the journal knows of them.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_schema::enqueue::millis;
use outbox_store::store::failover::{Found, LostMessage, PastClaim, PastRow};
use outbox_store::{AttemptRecord, ClaimId, InDoubtPolicy, Mark, Message, Outcome, Revision, TermId, Verdict};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::poller::channels::Channels;
use crate::poller::claim::SETTLING_MARGIN;

/// How long the journal keeps a claim after its last mark. A standby that lags by more has lost what nobody knows.
const KEPT: Duration = Duration::from_secs(10);

/// How long a database may be away and come back as one that lacks its last commits. What was marked before is on every standby, and
/// somebody may have removed it since.
const LONGEST_AWAY: Duration = Duration::from_mins(10);

/// The most memory of the journal, in bytes. Of what is marked, the oldest goes first.
const MOST_BYTES: usize = 8 << 20;

/// A claim, and what came of its rows.
#[derive(Debug)]
struct Entry {
    claim: ClaimId,
    term: TermId,
    channels: Arc<Channels>,
    claimed: Instant,
    /// When the last mark of the claim was written, or when it was claimed.
    last: Instant,
    /// The longest that a request for one of the rows may take.
    longest: Duration,
    /// Keys, channels and targets, one after the other.
    texts: String,
    rows: Vec<Row>,
    /// Rows without a mark.
    open: usize,
    /// The bytes of the entry.
    bytes: usize,
}

/// A row, and what came of it.
#[derive(Debug)]
struct Row {
    id: MessageId,
    revision: Revision,
    key: Range<u32>,
    channel: Range<u32>,
    target: Range<u32>,
    left: Left,
}

/// The outcome of a claimed row, as far as it is known.
#[derive(Debug)]
enum Left {
    /// Nothing yet: it may be on the wire.
    Open,
    /// A delivery, as most are.
    Delivered(Box<Delivered>),
    /// Another mark.
    Marked(Box<Mark>),
    /// Nothing that could be written again: another poller has decided it.
    Fenced,
    /// The database that failed over does not know the row.
    Gone,
}

/// The mark of a plain delivery, without what its claim knows.
#[derive(Debug)]
struct Delivered {
    started: std::time::Instant,
    duration: Duration,
    number: u32,
    status_code: Option<u16>,
    kept: bool,
    outcome: &'static str,
    receipt: Option<String>,
}

/// What a pass over the journal is to write again, and what it found.
#[derive(Debug, Default)]
pub(crate) struct ToMend {
    /// Marks whose rows are as they were claimed.
    pub marks: Vec<Mark>,
    /// The claims of which nothing else is left.
    pub finished: Vec<ClaimId>,
    /// Whether rows wait for one of these marks.
    pub behind: bool,
}

/// What this process claimed in the last seconds, and what came of it.
#[derive(Debug, Default)]
pub struct Journal {
    state: Mutex<State>,
    /// Given when the answer for a row has come that is gone.
    lost: Notify,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    /// How many entries were removed from the front.
    removed: usize,
    /// The number of each claim's entry, counted from the first that ever was.
    numbers: HashMap<ClaimId, usize>,
    bytes: usize,
    /// Whether rows of open claims are gone.
    any_gone: bool,
    /// Messages that went out and are gone, and are not listed yet.
    lost: Vec<LostMessage>,
}

impl Journal {
    /// Notes a claim.
    pub(crate) fn claimed(&self, term: &TermId, claim: ClaimId, channels: &Arc<Channels>, messages: &[Message]) {
        let now = Instant::now();
        let entry = Entry::new(term, claim, channels, messages, now);
        let mut state = self.state.lock();
        state.forget(now);
        let number = state.removed + state.entries.len();
        state.bytes += entry.bytes;
        state.numbers.insert(claim, number);
        state.entries.push_back(entry);
    }

    /// Notes marks that are written, but for those that were refused.
    pub(crate) fn marked(&self, marks: Vec<Mark>, fenced: &[MessageId]) {
        let now = Instant::now();
        let mut state = self.state.lock();
        for mark in marks {
            let Some(entry) = state.entry(mark.claim) else { continue };
            let id = mark.id;
            let left = if fenced.contains(&id) { Left::Fenced } else { Left::of(mark) };
            let more = entry.note(id, left, now);
            state.bytes += more;
        }
    }

    /// The marks among these whose rows the database knows. Of the others those that went out are to be listed.
    pub(crate) fn without_lost(&self, marks: &[Mark]) -> Option<Vec<Mark>> {
        let mut state = self.state.lock();
        if !state.any_gone {
            return None;
        }
        let mut known = Vec::with_capacity(marks.len());
        for mark in marks {
            let Some(entry) = state.entry(mark.claim) else {
                known.push(mark.clone());
                continue;
            };
            let Some(row) = entry.rows.iter().position(|row| row.id == mark.id && matches!(row.left, Left::Gone))
            else {
                known.push(mark.clone());
                continue;
            };
            let lost = entry.lost(row, mark);
            tracing::warn!(
                message_id = mark.id.0,
                idempotency_key = entry.text(&entry.rows[row].key),
                outcome = mark.attempt.outcome,
                "mark.lost: the database failed over and does not know the message"
            );
            state.lost.extend(lost);
        }
        self.lost.notify_one();
        Some(known)
    }

    /// What the database may have lost: all claims of the last seconds in which it answered.
    pub(crate) fn past(&self, settling_ttl: Duration) -> Vec<PastClaim> {
        let state = self.state.lock();
        let Some(newest) = state.entries.iter().map(|entry| entry.last).max() else { return Vec::new() };
        let is_recent = |last| newest.duration_since(last) <= KEPT && newest.elapsed() < LONGEST_AWAY;
        let recent = state.entries.iter().filter(|entry| entry.open > 0 || is_recent(entry.last));
        recent.map(|entry| entry.past(settling_ttl)).collect()
    }

    /// Takes in what the database has of these claims. Returns what is to be written there again.
    pub(crate) fn found(&self, claims: &[PastClaim], found: &[Vec<Found>]) -> ToMend {
        let mut state = self.state.lock();
        let mut to_mend = ToMend::default();
        let mut lost = Vec::new();
        for (claim, found) in claims.iter().zip(found) {
            let Some(entry) = state.entry(claim.claim) else { continue };
            for (place, found) in found.iter().enumerate() {
                match found {
                    Found::AsClaimed => to_mend.marks.extend(entry.mark_again(place)),
                    Found::MovedOn => {}
                    Found::Behind => to_mend.behind = true,
                    Found::Gone => lost.extend(entry.gone(place)),
                }
            }
            let is_over = found.iter().all(|found| *found != Found::Behind);
            if entry.open == 0 && is_over {
                to_mend.finished.push(entry.claim);
            }
        }
        state.any_gone = state.entries.iter().any(|entry| entry.rows.iter().any(|row| matches!(row.left, Left::Gone)));
        state.lost.extend(lost);
        to_mend
    }

    /// Waits until messages are to be listed that a failover lost.
    ///
    /// # Cancel safety
    /// Safe: the next call looks again.
    pub(crate) async fn lost(&self) {
        while self.state.lock().lost.is_empty() {
            self.lost.notified().await;
        }
    }

    /// The messages that went out and are gone, and are not listed yet.
    pub(crate) fn lost_messages(&self) -> Vec<LostMessage> {
        self.state.lock().lost.clone()
    }

    /// Says that so many of them are listed now.
    pub(crate) fn listed(&self, messages: usize) {
        self.state.lock().lost.drain(..messages);
    }
}

impl State {
    fn entry(&mut self, claim: ClaimId) -> Option<&mut Entry> {
        let number = *self.numbers.get(&claim)?;
        self.entries.get_mut(number - self.removed)
    }

    /// Removes what is marked and old, or too much. An older claim with a row on the wire keeps those behind it no longer than
    /// there is room.
    fn forget(&mut self, now: Instant) {
        while let Some(first) = self.entries.front() {
            let is_old = first.open == 0 && now.duration_since(first.last) > KEPT;
            if !is_old && self.bytes <= MOST_BYTES {
                return;
            }
            self.bytes -= first.bytes;
            self.numbers.remove(&first.claim);
            self.entries.pop_front();
            self.removed += 1;
        }
    }
}

impl Entry {
    fn new(term: &TermId, claim: ClaimId, channels: &Arc<Channels>, messages: &[Message], now: Instant) -> Self {
        let mut texts = String::new();
        let (mut channel, mut target) = (0..0, 0..0);
        let mut rows = Vec::with_capacity(messages.len());
        let mut longest = Duration::ZERO;
        for message in messages {
            let key = written(&mut texts, &message.idempotency_key);
            // Most share channel and target with the one before.
            for (range, text) in [(&mut channel, &message.channel), (&mut target, &message.target)] {
                if text_of(&texts, range) != text {
                    *range = written(&mut texts, text);
                }
            }
            let timeout = channels.get(&message.channel).map(|channel| channel.timeout).unwrap_or_default();
            longest = longest.max(message.deadline(timeout));
            let (channel, target) = (channel.clone(), target.clone());
            rows.push(Row { id: message.id(), revision: message.revision(), key, channel, target, left: Left::Open });
        }
        let bytes = size_of::<Self>() + rows.len() * size_of::<Row>() + texts.len();
        Self {
            claim,
            term: term.clone(),
            channels: channels.clone(),
            claimed: now,
            last: now,
            longest,
            texts,
            open: rows.len(),
            rows,
            bytes,
        }
    }

    fn text(&self, range: &Range<u32>) -> &str {
        text_of(&self.texts, range)
    }

    /// Notes what came of a row. Returns how many bytes that takes.
    fn note(&mut self, id: MessageId, left: Left, now: Instant) -> usize {
        let open = |row: &&mut Row| row.id == id && matches!(row.left, Left::Open | Left::Gone);
        let Some(row) = self.rows.iter_mut().find(open) else { return 0 };
        if matches!(row.left, Left::Open) {
            row.left = left;
        }
        let more = row.left.bytes();
        (self.last, self.open, self.bytes) = (now, self.open.saturating_sub(1), self.bytes + more);
        more
    }

    /// The mark of a row, to be written again. None while there is none.
    fn mark_again(&self, place: usize) -> Option<Mark> {
        let row = self.rows.get(place)?;
        match &row.left {
            Left::Delivered(delivered) => Some(self.delivery(row, delivered)),
            Left::Marked(mark) => Some((**mark).clone()),
            Left::Open | Left::Fenced | Left::Gone => None,
        }
    }

    fn delivery(&self, row: &Row, delivered: &Delivered) -> Mark {
        Mark {
            claim: self.claim,
            id: row.id,
            revision: row.revision,
            verdict: Verdict::Success { receipt: delivered.receipt.clone() },
            pause: None,
            status_code: delivered.status_code,
            error: None,
            deadline: None,
            told: None,
            attempt: AttemptRecord {
                number: delivered.number,
                epoch: self.term.epoch,
                holder: self.term.holder.clone(),
                started: delivered.started,
                duration: delivered.duration,
                kept: delivered.kept,
                outcome: delivered.outcome,
                excerpt: None,
            },
        }
    }

    /// Notes that the database does not know a row. Gives the message, where it is known to have gone out.
    fn gone(&mut self, place: usize) -> Option<LostMessage> {
        let lost = self.mark_again(place).and_then(|mark| self.lost(place, &mark));
        // What is on the wire is listed once it is known what came of it.
        if let Some(row) = self.rows.get_mut(place) {
            row.left = if matches!(row.left, Left::Open) { Left::Gone } else { Left::Fenced };
        }
        lost
    }

    /// The message of a row, where this mark says that it went out, or may have.
    fn lost(&self, place: usize, mark: &Mark) -> Option<LostMessage> {
        let row = self.rows.get(place)?;
        (mark.attempt.outcome != Outcome::Unsent.as_str()).then(|| LostMessage {
            idempotency_key: self.text(&row.key).to_owned(),
            channel: self.text(&row.channel).to_owned(),
            target: self.text(&row.target).to_owned(),
            id: row.id,
            sent_ms_ago: millis(mark.attempt.started.elapsed()),
            outcome: mark.attempt.outcome,
            status_code: mark.status_code,
        })
    }

    fn past(&self, ttl: Duration) -> PastClaim {
        let terms = self.channels.terms().iter().filter(|terms| terms.in_doubt == InDoubtPolicy::DeadLetter);
        let settling_closed = self.longest.saturating_add(SETTLING_MARGIN);
        PastClaim {
            claim: self.claim,
            epoch: self.term.epoch,
            holder: self.term.holder.clone(),
            made: self.claimed.into_std(),
            settling: settling_closed.saturating_add(ttl),
            settling_closed,
            at_most_once: terms.map(|terms| terms.name.clone()).collect(),
            rows: self
                .rows
                .iter()
                .map(|row| PastRow { id: row.id, revision: row.revision, key: self.text(&row.key).to_owned() })
                .collect(),
        }
    }
}

impl Left {
    fn of(mark: Mark) -> Self {
        let is_plain = mark.pause.is_none()
            && mark.told.is_none()
            && mark.error.is_none()
            && mark.deadline.is_none()
            && mark.attempt.excerpt.is_none();
        match mark.verdict {
            Verdict::Success { receipt } if is_plain => Self::Delivered(Box::new(Delivered {
                started: mark.attempt.started,
                duration: mark.attempt.duration,
                number: mark.attempt.number,
                status_code: mark.status_code,
                kept: mark.attempt.kept,
                outcome: mark.attempt.outcome,
                receipt,
            })),
            _ => Self::Marked(Box::new(mark)),
        }
    }

    /// The bytes beside the row.
    fn bytes(&self) -> usize {
        match self {
            Self::Open | Self::Fenced | Self::Gone => 0,
            Self::Delivered(delivered) => size_of::<Delivered>() + delivered.receipt.as_ref().map_or(0, String::len),
            Self::Marked(mark) => {
                let texts = [mark.error.as_ref(), mark.attempt.excerpt.as_ref()];
                size_of::<Mark>() + texts.into_iter().flatten().map(String::len).sum::<usize>()
            }
        }
    }
}

fn written(texts: &mut String, text: &str) -> Range<u32> {
    let place = |texts: &String| u32::try_from(texts.len()).unwrap_or(u32::MAX);
    let from = place(texts);
    texts.push_str(text);
    from..place(texts)
}

fn text_of<'a>(texts: &'a str, range: &Range<u32>) -> &'a str {
    texts.get(range.start as usize..range.end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Nobody, channel, mark, message};
    use outbox_store::{Epoch, Holder, Shard};

    const TTL: Duration = Duration::from_secs(10);

    /// Notes a claim of these rows.
    fn claim(journal: &Journal, ids: Range<i64>) -> ClaimId {
        let term = TermId { shard: Shard(0), epoch: Epoch(1), holder: Holder::new("a", "1") };
        let channels = Arc::new(Channels::new([channel(Arc::new(Nobody))]));
        let claim = ClaimId::mint();
        journal.claimed(&term, claim, &channels, &ids.map(message).collect::<Vec<_>>());
        claim
    }

    /// The mark of a delivery.
    fn delivered(claim: ClaimId, id: i64) -> Mark {
        let mut mark = Mark { verdict: Verdict::Success { receipt: Some("r".to_owned()) }, ..mark(claim, id) };
        (mark.status_code, mark.attempt.outcome) = (Some(204), "delivered");
        mark
    }

    /// Has the database say the same of each row.
    fn found(journal: &Journal, what: Found) -> ToMend {
        let past = journal.past(TTL);
        let found: Vec<_> = past.iter().map(|claim| vec![what; claim.rows.len()]).collect();
        journal.found(&past, &found)
    }

    #[tokio::test(start_paused = true)]
    async fn a_mark_is_written_again_as_it_was_where_its_row_is_as_it_was_claimed() {
        let journal = Journal::default();
        let claim = claim(&journal, 0..3);
        let retry = Mark { verdict: Verdict::Retry { after: TTL }, error: Some("503".to_owned()), ..mark(claim, 1) };
        journal.marked(vec![delivered(claim, 0), retry.clone()], &[]);
        let to_mend = found(&journal, Found::AsClaimed);
        let [first, second] = &to_mend.marks[..] else { unreachable!("{to_mend:?}") };
        assert_eq!(format!("{first:?}"), format!("{:?}", delivered_at(first, claim)));
        assert_eq!(format!("{second:?}"), format!("{retry:?}"));
        assert_eq!((to_mend.finished.len(), to_mend.behind), (0, false), "a row is on the wire");
        journal.marked(vec![mark(claim, 2)], &[MessageId(2)]);
        let to_mend = found(&journal, Found::AsClaimed);
        assert_eq!((to_mend.marks.len(), to_mend.finished), (2, vec![claim]), "a fenced mark was written again");
    }

    /// The mark of that delivery, which began when this one did.
    fn delivered_at(seen: &Mark, claim: ClaimId) -> Mark {
        let mut mark = delivered(claim, 0);
        mark.attempt.started = seen.attempt.started;
        mark
    }

    #[tokio::test(start_paused = true)]
    async fn what_went_out_and_is_gone_is_listed_once_also_where_its_answer_comes_later() {
        let journal = Journal::default();
        let claim = claim(&journal, 0..4);
        journal.marked(vec![delivered(claim, 0), mark(claim, 1)], &[]);
        assert!(journal.without_lost(&[delivered(claim, 2)]).is_none());
        assert!(found(&journal, Found::Gone).marks.is_empty());
        let keys = || {
            let lost = journal.lost_messages();
            journal.listed(lost.len());
            lost.into_iter().map(|lost| lost.idempotency_key).collect::<Vec<_>>()
        };
        assert_eq!(keys(), ["0"], "what was not sent is not lost");
        let late = [delivered(claim, 2), mark(claim, 3)];
        assert!(journal.without_lost(&late).is_some_and(|known| known.is_empty()));
        assert_eq!(keys(), ["2"]);
        journal.marked(late.to_vec(), &[]);
        assert!(found(&journal, Found::Gone).marks.is_empty() && keys().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_is_forgotten_ten_seconds_after_its_last_mark_and_never_while_it_is_open() {
        let journal = Journal::default();
        let (done, open) = (claim(&journal, 0..1), claim(&journal, 1..2));
        journal.marked(vec![delivered(done, 0)], &[]);
        tokio::time::advance(KEPT + Duration::from_secs(1)).await;
        let new = claim(&journal, 2..3);
        let kept = |journal: &Journal| journal.past(TTL).into_iter().map(|past| past.claim).collect::<Vec<_>>();
        assert_eq!(kept(&journal), [open, new]);
        journal.marked(vec![delivered(open, 1), delivered(new, 2)], &[]);
        // While the database is away nothing is forgotten.
        tokio::time::advance(LONGEST_AWAY / 2).await;
        assert_eq!(kept(&journal), [open, new]);
        tokio::time::advance(LONGEST_AWAY).await;
        assert!(kept(&journal).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_journal_takes_no_more_memory_than_it_may() {
        let journal = Journal::default();
        for batch in 0..200 {
            let ids = batch * 512..(batch + 1) * 512;
            let claim = claim(&journal, ids.clone());
            journal.marked(ids.map(|id| delivered(claim, id)).collect(), &[]);
        }
        let state = journal.state.lock();
        let bytes: usize = state.entries.iter().map(|entry| entry.bytes).sum();
        assert_eq!(bytes, state.bytes);
        assert!(bytes <= MOST_BYTES + MOST_BYTES / 10 && bytes > MOST_BYTES / 2, "{bytes}");
        assert_eq!(state.numbers.len(), state.entries.len());
    }
}
