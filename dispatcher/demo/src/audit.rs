//! The audit: it compares what the shop committed, what the tables say and what the receiver counted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::ledger::Tally;
use super::shop::Sales;
use super::stage::MAX_IN_FLIGHT;
use super::tables::{DoubtRow, MessageRow};

/// The three accounts.
#[derive(Debug)]
pub(super) struct Accounts<'a> {
    /// The shop's account.
    pub(super) sold: &'a Sales,
    /// The messages in the outbox tables.
    pub(super) messages: &'a [MessageRow],
    /// The attempts in the outbox tables that ended in doubt.
    pub(super) doubts: &'a [DoubtRow],
    /// The receiver's account.
    pub(super) arrived: &'a HashMap<String, Tally>,
}

/// The result of the audit.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// Messages of orders that were accepted.
    pub(super) delivered: usize,
    /// Messages that tell of an outcome, and were accepted.
    pub(super) told: usize,
    /// Messages that were accepted more than once.
    pub(super) twice: Vec<Twice>,
    /// The number of dead letters for each cause.
    pub(super) dead: BTreeMap<Cause, usize>,
    /// The breaches of the guarantee, in words. Empty: the guarantee held.
    pub(super) faults: Vec<String>,
}

/// A message that was accepted more than once.
#[derive(Debug)]
pub(super) struct Twice {
    pub(super) id: i64,
    pub(super) key: String,
    /// The time of each acceptance, since the demo began.
    pub(super) accepted: Vec<Duration>,
    /// The attempts in doubt that explain the second delivery.
    pub(super) because: Vec<DoubtRow>,
}

/// The cause of a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cause {
    pub(super) reason: String,
    pub(super) channel: String,
    pub(super) status_code: Option<i64>,
}

/// Compares the accounts.
pub(super) fn audit(accounts: &Accounts<'_>) -> Audit {
    let mut audit = Audit::default();
    for message in accounts.messages {
        audit.follow(message, accounts);
    }
    audit.look_for_lost(accounts);
    audit.look_for_phantoms(accounts);
    audit.check_outcomes(accounts);
    audit.check_bound(accounts);
    audit
}

impl Audit {
    fn follow(&mut self, message: &MessageRow, accounts: &Accounts<'_>) {
        let key = &message.idempotency_key;
        let accepted = accounts.arrived.get(key).map_or(&[][..], |tally| &tally.accepted);
        let counted = if message.tells_of.is_none() { &mut self.delivered } else { &mut self.told };
        *counted += usize::from(!accepted.is_empty());
        match message.status.as_str() {
            "SUCCESS" if accepted.is_empty() => self.faults.push(format!("{key} is SUCCESS and never arrived")),
            "SUCCESS" => {}
            "DEAD" => self.bury(message, accounts),
            status => self.faults.push(format!("{key} is still {status}")),
        }
        if accepted.len() > 1 {
            self.explain(message, accepted, accounts.doubts);
        }
    }

    fn bury(&mut self, message: &MessageRow, accounts: &Accounts<'_>) {
        let key = &message.idempotency_key;
        match &message.dead_reason {
            None => self.faults.push(format!("{key} is DEAD without a reason")),
            Some(reason) => {
                let cause = Cause {
                    reason: reason.clone(),
                    channel: message.channel.clone(),
                    status_code: message.last_status_code,
                };
                *self.dead.entry(cause).or_default() += 1;
            }
        }
        let accepts = accounts.sold.committed.get(key).is_some_and(|manner| !manner.is_hopeless());
        if accepts || message.tells_of.is_some() {
            self.faults.push(format!("{key} is DEAD, though its target accepts"));
        }
    }

    fn explain(&mut self, message: &MessageRow, accepted: &[Duration], doubts: &[DoubtRow]) {
        let because: Vec<_> = doubts.iter().filter(|doubt| doubt.message_id == message.id).cloned().collect();
        if because.len() < accepted.len() - 1 {
            let (key, times, explained) = (&message.idempotency_key, accepted.len(), because.len());
            self.faults.push(format!("{key} was accepted {times} times, and {explained} attempts were in doubt"));
        }
        let (id, key) = (message.id, message.idempotency_key.clone());
        self.twice.push(Twice { id, key, accepted: accepted.to_vec(), because });
    }

    /// Checks that no term left more messages in doubt than a poller may have in flight.
    fn check_bound(&mut self, accounts: &Accounts<'_>) {
        let mut left: BTreeMap<i64, usize> = BTreeMap::new();
        for doubt in accounts.doubts.iter().filter(|doubt| doubt.settled) {
            *left.entry(doubt.epoch).or_default() += 1;
        }
        let over = left.into_iter().filter(|(_, messages)| *messages > MAX_IN_FLIGHT);
        self.faults.extend(
            over.map(|(epoch, messages)| {
                format!("epoch {epoch} left {messages} in doubt; {MAX_IN_FLIGHT} are the bound")
            }),
        );
    }

    fn look_for_lost(&mut self, accounts: &Accounts<'_>) {
        let kept: HashSet<_> = accounts.messages.iter().map(|message| &message.idempotency_key).collect();
        let lost = accounts.sold.committed.keys().filter(|key| !kept.contains(key));
        self.faults.extend(lost.map(|key| format!("{key} was committed, and the outbox does not have it")));
    }

    /// Checks that each outcome that a channel tells is told once, and nothing else.
    fn check_outcomes(&mut self, accounts: &Accounts<'_>) {
        let mut told: HashMap<i64, Vec<Option<&str>>> = HashMap::new();
        for outcome in accounts.messages {
            if let Some(of) = outcome.tells_of {
                told.entry(of).or_default().push(outcome.told_status.as_deref());
            }
        }
        for message in accounts.messages.iter().filter(|message| message.tells_of.is_none()) {
            let MessageRow { id, idempotency_key: key, channel, status, .. } = message;
            let is_told = status == "DEAD" || status == "SUCCESS" && channel == "push";
            let wanted = if is_told { vec![Some(status.as_str())] } else { Vec::new() };
            let found = told.remove(id).unwrap_or_default();
            if found != wanted {
                self.faults.push(format!("{key} is {status}, and is told as {found:?}"));
            }
        }
        self.faults.extend(told.into_keys().map(|id| format!("message {id} is told, and is not in the outbox")));
    }

    fn look_for_phantoms(&mut self, accounts: &Accounts<'_>) {
        let (outcomes, others): (Vec<_>, Vec<_>) =
            accounts.messages.iter().partition(|message| message.tells_of.is_some());
        let outcomes: HashSet<_> = outcomes.into_iter().map(|message| &message.idempotency_key).collect();
        let kept = others.into_iter().map(|message| &message.idempotency_key);
        let known = |key: &String| accounts.sold.committed.contains_key(key) || outcomes.contains(key);
        let phantoms: HashSet<_> = accounts.arrived.keys().chain(kept).filter(|key| !known(key)).collect();
        self.faults.extend(phantoms.into_iter().map(|key| {
            let how = if accounts.sold.rolled_back.contains(key) { "was rolled back" } else { "is no order's" };
            let where_found = if accounts.arrived.contains_key(key) { "was sent" } else { "is in the outbox" };
            format!("{key} {how}, and {where_found}")
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manner::Manner;

    const SECOND: Duration = Duration::from_secs(1);

    fn row(id: i64, key: &str, status: &str) -> MessageRow {
        let dead_reason = (status == "DEAD").then(|| "permanent".to_owned());
        let (idempotency_key, channel, status) = (key.to_owned(), "webhook".to_owned(), status.to_owned());
        let (tells_of, told_status) = (None, None);
        MessageRow { id, idempotency_key, channel, status, dead_reason, last_status_code: None, tells_of, told_status }
    }

    /// A message that was delivered, and tells that another one is dead.
    fn tells_of(id: i64) -> MessageRow {
        let row = row(100 + id, &format!("outcome-{id}"), "SUCCESS");
        MessageRow { channel: "told".to_owned(), tells_of: Some(id), told_status: Some("DEAD".to_owned()), ..row }
    }

    fn received(times: &[(&str, usize)]) -> HashMap<String, Tally> {
        let tally = |times: usize| Tally { requests: 1, accepted: vec![SECOND; times] };
        times.iter().map(|(key, times)| ((*key).to_owned(), tally(*times))).collect()
    }

    /// The faults, where each dead letter is told once.
    fn faults(messages: &[MessageRow], doubts: &[DoubtRow], received: &HashMap<String, Tally>) -> Vec<String> {
        let dead = messages.iter().filter(|message| message.status == "DEAD");
        let outcomes: Vec<_> = dead.map(|message| tells_of(message.id)).collect();
        faults_told(messages, &outcomes, doubts, received)
    }

    fn faults_told(
        messages: &[MessageRow],
        outcomes: &[MessageRow],
        doubts: &[DoubtRow],
        received: &HashMap<String, Tally>,
    ) -> Vec<String> {
        let messages: Vec<_> = messages.iter().chain(outcomes).cloned().collect();
        let told = outcomes.iter().map(|outcome| (outcome.idempotency_key.as_str(), 1)).collect::<Vec<_>>();
        let mut received = received.clone();
        received.extend(self::received(&told));
        let sold = Sales {
            committed: [("good".to_owned(), Manner::Well), ("bad".to_owned(), Manner::Gone)].into(),
            rolled_back: ["undone".to_owned()].into(),
            ..Sales::default()
        };
        audit(&Accounts { sold: &sold, messages: &messages, doubts, arrived: &received }).faults
    }

    fn in_doubt(message_id: i64) -> DoubtRow {
        DoubtRow { message_id, outcome: "in_doubt".to_owned(), epoch: 1, holder: "a.1".to_owned(), settled: true }
    }

    #[test]
    fn accounts_that_agree_have_no_fault() {
        let messages = [row(1, "good", "SUCCESS"), row(2, "bad", "DEAD")];
        assert_eq!(faults(&messages, &[in_doubt(1)], &received(&[("good", 2), ("bad", 0)])), [""; 0]);
    }

    #[test]
    fn more_in_doubt_than_one_poller_may_have_in_flight_is_a_fault() {
        let messages = [row(1, "good", "SUCCESS"), row(2, "bad", "DEAD")];
        let doubts = |number: usize| vec![in_doubt(1); number];
        assert_eq!(faults(&messages, &doubts(32), &received(&[("good", 1)])), [""; 0]);
        let said = faults(&messages, &doubts(33), &received(&[("good", 1)]));
        assert_eq!(said, ["epoch 1 left 33 in doubt; 32 are the bound"]);
    }

    #[test]
    fn an_outcome_that_is_not_told_or_told_twice_or_wrongly_is_a_fault() {
        let messages = [row(1, "good", "SUCCESS"), row(2, "bad", "DEAD")];
        let push = [MessageRow { channel: "push".to_owned(), ..row(1, "good", "SUCCESS") }, row(2, "bad", "DEAD")];
        let again = MessageRow { idempotency_key: "outcome-again".to_owned(), ..tells_of(2) };
        let delivered = || MessageRow { told_status: Some("SUCCESS".to_owned()), ..tells_of(2) };
        for (messages, outcomes, said) in [
            (&messages, vec![], "bad is DEAD, and is told as []"),
            (&messages, vec![tells_of(2), again], r#"bad is DEAD, and is told as [Some("DEAD"), Some("DEAD")]"#),
            (&messages, vec![delivered()], r#"bad is DEAD, and is told as [Some("SUCCESS")]"#),
            (&messages, vec![tells_of(1), tells_of(2)], r#"good is SUCCESS, and is told as [Some("DEAD")]"#),
            (&messages, vec![tells_of(2), tells_of(3)], "message 3 is told, and is not in the outbox"),
            (&push, vec![tells_of(2)], "good is SUCCESS, and is told as []"),
        ] {
            assert_eq!(faults_told(messages, &outcomes, &[], &received(&[("good", 1)])), [said]);
        }
        let dead = [MessageRow { status: "DEAD".to_owned(), dead_reason: Some("permanent".to_owned()), ..tells_of(2) }];
        let said = faults_told(&messages, &dead, &[], &received(&[("good", 1)]));
        assert!(said.contains(&"outcome-2 is DEAD, though its target accepts".to_owned()), "{said:?}");
    }

    #[test]
    fn each_way_to_break_the_guarantee_is_a_fault() {
        let both = || vec![row(1, "good", "SUCCESS"), row(2, "bad", "DEAD")];
        for (messages, received, said) in [
            (vec![row(2, "bad", "DEAD")], received(&[]), "good was committed, and the outbox does not have it"),
            (both(), received(&[]), "good is SUCCESS and never arrived"),
            (both(), received(&[("good", 2)]), "good was accepted 2 times, and 0 attempts were in doubt"),
            (both(), received(&[("good", 1), ("undone", 1)]), "undone was rolled back, and was sent"),
            (both(), received(&[("good", 1), ("other", 1)]), "other is no order's, and was sent"),
            (vec![row(1, "good", "PENDING"), row(2, "bad", "DEAD")], received(&[]), "good is still PENDING"),
            (
                vec![row(1, "good", "DEAD"), row(2, "bad", "DEAD")],
                received(&[]),
                "good is DEAD, though its target accepts",
            ),
        ] {
            assert_eq!(faults(&messages, &[], &received), [said]);
        }
    }
}
