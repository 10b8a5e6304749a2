//! What must hold after every run, whatever happened in it: three accounts that know nothing of each other, the
//! application's, the receiver's and the tables', are compared.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::receiver::Request;
use crate::tables::{AttemptRow, MessageRow, Newest, TermRow};

/// What was written down during a run.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// Keys that the application committed.
    pub committed: HashSet<String>,
    /// Keys that it rolled back.
    pub rolled_back: HashSet<String>,
    /// What the receiver got, in the order of arrival.
    pub requests: Vec<Request>,
    /// `outbox`.
    pub messages: Vec<MessageRow>,
    /// `outbox_attempt`.
    pub attempts: Vec<AttemptRow>,
    /// `outbox_term_log`, in the order in which the terms began.
    pub terms: Vec<TermRow>,
    /// `outbox_term`.
    pub newest: Option<Newest>,
}

/// A run that broke nothing.
#[derive(Debug)]
pub struct Report {
    /// Messages by status, dead ones by `DEAD` and their reason.
    pub messages: BTreeMap<String, usize>,
    /// For each key that was accepted more than once, the attempts that explain it.
    pub twice: BTreeMap<String, Vec<AttemptRow>>,
    /// The attempts in doubt.
    pub in_doubt: Vec<AttemptRow>,
    /// The terms, in the order in which they began.
    pub terms: Vec<TermRow>,
}

impl Report {
    /// Deliveries beyond the first of each message.
    pub fn is_without_duplicates(&self) -> bool {
        self.twice.is_empty()
    }

    /// Asserts that there are so many messages, and that all were delivered.
    pub fn assert_all_delivered(&self, messages: usize) {
        assert_eq!(self.messages, BTreeMap::from([("SUCCESS".to_owned(), messages)]));
    }
}

/// How often a poller handed over while it had messages in flight, and the next one had work too.
pub fn hand_overs_under_load(terms: &[TermRow]) -> usize {
    let loaded = |term: &TermRow| term.in_flight_at_end() > 0;
    let takes_over = |term: &TermRow| term.claimed.unwrap_or_default() > 0;
    terms.windows(2).filter(|pair| loaded(&pair[0]) && takes_over(&pair[1])).count()
}

/// How many processes led a term in which they claimed something.
pub fn pollers(terms: &[TermRow]) -> usize {
    let worked = terms.iter().filter(|term| term.claimed != Some(0));
    worked.map(TermRow::instance).collect::<HashSet<_>>().len()
}

/// Compares the accounts.
///
/// # Panics
/// Where a guarantee was broken, with all that was.
pub fn check(accounts: &Accounts) -> Report {
    let faults = faults(accounts);
    let some: Vec<_> = faults.iter().take(20).cloned().collect();
    assert!(faults.is_empty(), "{} guarantees broken:\n{}", faults.len(), some.join("\n"));
    let trail = Trail::of(accounts);
    let mut report = Report {
        messages: BTreeMap::new(),
        twice: BTreeMap::new(),
        in_doubt: accounts.attempts.iter().filter(|attempt| is_in_doubt(attempt)).cloned().collect(),
        terms: accounts.terms.clone(),
    };
    for message in &accounts.messages {
        let reason = message.dead_reason.as_ref().map(|reason| format!(" {reason}")).unwrap_or_default();
        *report.messages.entry(message.status.clone() + &reason).or_default() += 1;
        if trail.accepted(message) > 1 {
            let doubts = trail.attempts(message).filter(|attempt| is_in_doubt(attempt)).cloned().collect();
            report.twice.insert(message.idempotency_key.clone(), doubts);
        }
    }
    report
}

/// Each breach, in words.
fn faults(accounts: &Accounts) -> Vec<String> {
    let mut faults = Vec::new();
    origins(accounts, &mut faults);
    terms(accounts, &mut faults);
    let trail = Trail::of(accounts);
    for message in &accounts.messages {
        outcome(message, &trail, &mut faults);
        sends(message, &trail, &mut faults);
    }
    for attempt in &accounts.attempts {
        names_a_term(attempt, accounts, &mut faults);
    }
    faults
}

/// None lost, none invented.
fn origins(accounts: &Accounts, faults: &mut Vec<String>) {
    let kept: HashSet<_> = accounts.messages.iter().map(|message| &message.idempotency_key).collect();
    for key in accounts.committed.iter().filter(|key| !kept.contains(key)) {
        faults.push(format!("{key} was committed, and the outbox does not have it"));
    }
    for key in kept.iter().filter(|key| !accounts.committed.contains(**key)) {
        faults.push(format!("{key} is in the outbox, and was not committed"));
    }
    let arrived: HashSet<_> = accounts.requests.iter().map(|request| &request.key).collect();
    for key in arrived.into_iter().filter(|key| !accounts.committed.contains(*key)) {
        let why = if accounts.rolled_back.contains(key) { "was rolled back" } else { "is nobody's" };
        faults.push(format!("{key:?} {why}, and was sent"));
    }
}

/// Epochs strictly increase, each has one holder, and no term is newer than the term row.
fn terms(accounts: &Accounts, faults: &mut Vec<String>) {
    for pair in accounts.terms.windows(2).filter(|pair| pair[0].epoch >= pair[1].epoch) {
        faults.push(format!("epoch {} was followed by epoch {}", pair[0].epoch, pair[1].epoch));
    }
    let last = accounts.terms.last().map(|term| (term.epoch, term.holder.as_str()));
    let newest = accounts.newest.as_ref().filter(|newest| newest.epoch > 0);
    let newest = newest.map(|newest| (newest.epoch, newest.holder.as_str()));
    if last != newest {
        faults.push(format!("outbox_term says {newest:?}, and outbox_term_log {last:?}"));
    }
}

fn outcome(message: &MessageRow, trail: &Trail<'_>, faults: &mut Vec<String>) {
    let key = &message.idempotency_key;
    match (message.status.as_str(), &message.dead_reason) {
        ("SUCCESS", None) if trail.accepted(message) == 0 => {
            faults.push(format!("{key} is SUCCESS, and was never accepted"));
        }
        ("SUCCESS" | "PENDING", None) | ("DEAD", Some(_)) => {}
        (status, reason) => faults.push(format!("{key} is {status} for the reason {reason:?}")),
    }
}

/// Every send is counted, and every delivery beyond the first is explained by an attempt in doubt.
fn sends(message: &MessageRow, trail: &Trail<'_>, faults: &mut Vec<String>) {
    let key = &message.idempotency_key;
    let (sent, accepted) = (trail.sent(message), trail.accepted(message));
    // A deferral is sent and burns no attempt; the last send of a message without an outcome may be on its way.
    let deferred = trail.attempts(message).filter(|attempt| attempt.outcome == "deferred").count();
    let under_way = usize::from(message.status == "PENDING");
    let counted = usize::try_from(message.attempts).unwrap() + deferred + under_way;
    if sent > counted {
        faults.push(format!("{key} was sent {sent} times, and {counted} attempts were counted"));
    }
    let doubts = trail.attempts(message).filter(|attempt| is_in_doubt(attempt)).count();
    if accepted > doubts + 1 {
        faults.push(format!("{key} was accepted {accepted} times, and {doubts} attempts were in doubt"));
    }
}

/// What a later term settled names the term that left it.
fn names_a_term(attempt: &AttemptRow, accounts: &Accounts, faults: &mut Vec<String>) {
    let (id, epoch, holder) = (attempt.message_id, attempt.epoch, &attempt.holder);
    if !accounts.terms.iter().any(|term| term.epoch == epoch && term.holder == *holder) {
        faults.push(format!("an attempt of message {id} names epoch {epoch} of {holder}, which never was"));
    }
    let newest = accounts.newest.as_ref().map_or(0, |newest| newest.epoch);
    if is_settled(attempt) && epoch >= newest {
        faults.push(format!("message {id} was settled as in doubt of epoch {epoch}, which is the newest"));
    }
}

fn is_in_doubt(attempt: &AttemptRow) -> bool {
    attempt.outcome == "in_doubt"
}

fn is_settled(attempt: &AttemptRow) -> bool {
    is_in_doubt(attempt) && attempt.settled == 1
}

/// What happened to each message.
struct Trail<'a> {
    sent: HashMap<&'a str, usize>,
    accepted: HashMap<&'a str, usize>,
    attempts: HashMap<i64, Vec<&'a AttemptRow>>,
}

impl<'a> Trail<'a> {
    fn of(accounts: &'a Accounts) -> Self {
        let mut trail = Self { sent: HashMap::new(), accepted: HashMap::new(), attempts: HashMap::new() };
        for request in &accounts.requests {
            *trail.sent.entry(&request.key).or_default() += 1;
            *trail.accepted.entry(&request.key).or_default() += usize::from(request.is_accepted());
        }
        for attempt in &accounts.attempts {
            trail.attempts.entry(attempt.message_id).or_default().push(attempt);
        }
        trail
    }

    fn sent(&self, message: &MessageRow) -> usize {
        self.sent.get(message.idempotency_key.as_str()).copied().unwrap_or_default()
    }

    fn accepted(&self, message: &MessageRow) -> usize {
        self.accepted.get(message.idempotency_key.as_str()).copied().unwrap_or_default()
    }

    fn attempts(&self, message: &MessageRow) -> impl Iterator<Item = &'a AttemptRow> {
        self.attempts.get(&message.id).into_iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn request(key: &str, status: Option<u16>) -> Request {
        Request { key: key.to_owned(), path: "/".to_owned(), arrived: Instant::now(), status, left: None }
    }

    fn message(id: i64, key: &str, status: &str, dead_reason: Option<&str>, attempts: i64) -> MessageRow {
        let (key, status) = (key.to_owned(), status.to_owned());
        MessageRow { id, idempotency_key: key, status, dead_reason: dead_reason.map(str::to_owned), attempts }
    }

    fn term(epoch: i64) -> TermRow {
        let holder = format!("a.{epoch}");
        TermRow { epoch, holder, ended_because: None, claimed: None, delivered: None, failed: None }
    }

    fn in_doubt(message_id: i64, epoch: i64) -> AttemptRow {
        AttemptRow { message_id, epoch, holder: format!("a.{epoch}"), outcome: "in_doubt".to_owned(), settled: 1 }
    }

    /// One delivered, one delivered twice, one refused, one not yet sent.
    fn sound() -> Accounts {
        Accounts {
            committed: ["once", "twice", "dead", "late"].map(str::to_owned).into(),
            rolled_back: ["undone".to_owned()].into(),
            requests: vec![
                request("once", Some(200)),
                request("twice", Some(200)),
                request("dead", Some(400)),
                request("twice", Some(200)),
            ],
            messages: vec![
                message(1, "once", "SUCCESS", None, 1),
                message(2, "twice", "SUCCESS", None, 2),
                message(3, "dead", "DEAD", Some("permanent"), 1),
                message(4, "late", "PENDING", None, 0),
            ],
            attempts: vec![in_doubt(2, 1)],
            terms: vec![term(1), term(2)],
            newest: Some(Newest { epoch: 2, holder: "a.2".to_owned() }),
        }
    }

    #[test]
    fn accounts_that_agree_pass_and_name_what_was_delivered_twice() {
        let report = check(&sound());
        assert_eq!(report.twice.keys().collect::<Vec<_>>(), ["twice"]);
        assert_eq!(report.messages["DEAD permanent"], 1);
    }

    #[test]
    fn each_breach_is_convicted() {
        type Breach = fn(&mut Accounts);
        let breaches: [(Breach, &str); 13] = [
            (|run| drop(run.messages.pop()), "late was committed, and the outbox does not have it"),
            (|run| run.committed.retain(|key| key != "late"), "late is in the outbox, and was not committed"),
            (|run| run.requests.push(request("undone", Some(200))), "\"undone\" was rolled back, and was sent"),
            (|run| run.requests.push(request("other", None)), "\"other\" is nobody's, and was sent"),
            (|run| run.terms[0].epoch = 2, "epoch 2 was followed by epoch 2"),
            (
                |run| drop(run.terms.pop()),
                "outbox_term says Some((2, \"a.2\")), and outbox_term_log Some((1, \"a.1\"))",
            ),
            (|run| run.requests[0].status = Some(500), "once is SUCCESS, and was never accepted"),
            (|run| run.messages[2].dead_reason = None, "dead is DEAD for the reason None"),
            (|run| run.messages[3].status = "LOST".to_owned(), "late is LOST for the reason None"),
            (|run| run.messages[1].attempts = 1, "twice was sent 2 times, and 1 attempts were counted"),
            (|run| run.attempts.clear(), "twice was accepted 2 times, and 0 attempts were in doubt"),
            (
                |run| run.attempts[0].holder = "b.1".to_owned(),
                "an attempt of message 2 names epoch 1 of b.1, which never was",
            ),
            (
                |run| run.attempts[0] = in_doubt(2, 2),
                "message 2 was settled as in doubt of epoch 2, which is the newest",
            ),
        ];
        for (breach, said) in breaches {
            let mut run = sound();
            breach(&mut run);
            let faults = faults(&run);
            assert!(faults.iter().any(|fault| fault == said), "{said:?} in {faults:?}");
        }
    }
}
