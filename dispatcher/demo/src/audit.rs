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
    /// Messages that were accepted.
    pub(super) delivered: usize,
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
    audit.check_bound(accounts);
    audit
}

impl Audit {
    fn follow(&mut self, message: &MessageRow, accounts: &Accounts<'_>) {
        let key = &message.idempotency_key;
        let accepted = accounts.arrived.get(key).map_or(&[][..], |tally| &tally.accepted);
        self.delivered += usize::from(!accepted.is_empty());
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
        if accounts.sold.committed.get(key).is_some_and(|manner| !manner.is_hopeless()) {
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

    fn look_for_phantoms(&mut self, accounts: &Accounts<'_>) {
        let kept = accounts.messages.iter().map(|message| &message.idempotency_key);
        let phantoms: HashSet<_> =
            accounts.arrived.keys().chain(kept).filter(|key| !accounts.sold.committed.contains_key(*key)).collect();
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
        MessageRow { id, idempotency_key, channel, status, dead_reason, last_status_code: None }
    }

    fn received(times: &[(&str, usize)]) -> HashMap<String, Tally> {
        let tally = |times: usize| Tally { requests: 1, accepted: vec![SECOND; times] };
        times.iter().map(|(key, times)| ((*key).to_owned(), tally(*times))).collect()
    }

    fn faults(messages: &[MessageRow], doubts: &[DoubtRow], received: &HashMap<String, Tally>) -> Vec<String> {
        let sold = Sales {
            committed: [("good".to_owned(), Manner::Well), ("bad".to_owned(), Manner::Gone)].into(),
            rolled_back: ["undone".to_owned()].into(),
            ..Sales::default()
        };
        audit(&Accounts { sold: &sold, messages, doubts, arrived: received }).faults
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
