//! Three replicas that take the steps of a trace: each with its real `InFlight`, all on one real store.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_dispatcher::in_flight::InFlight;
use outbox_model::Protocol;
use outbox_model::state::{MESSAGES, REPLICAS};
use outbox_model::steps::Step;
use outbox_schema::MessageId;
use outbox_store::store::due::{DueRows, RowsToClaim};
use outbox_store::store::{OpenedTerm, TermCounts};
use outbox_store::{
    ChannelTerms, ClaimId, Epoch, Holder, Mark, Message, Revision, Shard, StoreError, TermEnd, TermId, Verdict,
    WalkStart,
};
use outbox_tests::conformance::store::{Outbox, http, mark, seen, terms};
use tokio::task::JoinHandle;

use super::parking::{Parking, until_blocked, until_parked};

/// What was said to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// It was taken.
    Done,
    /// It waits for a lock, and is taken once that is free.
    Waits,
    /// No slot is free.
    NoRoom,
    /// Nothing is due that may be claimed.
    LeftOut,
    /// The settling time is not over.
    NotYet,
    /// There is nothing to be sent.
    NotClaimed,
    /// A later term exists.
    Fenced,
}

/// The fleet and its outbox.
pub(super) struct Replicas<'a> {
    outbox: &'a Outbox,
    parking: Parking,
    fleet: [Replica; REPLICAS],
    channels: [ChannelTerms; 1],
    /// Those that were begun, in this order.
    pub(super) terms: Vec<TermId>,
    /// Those of the trace.
    pub(super) messages: [MessageId; MESSAGES],
}

/// A claim that is being made.
type Claiming = JoinHandle<Result<Vec<Message>, StoreError>>;

struct Replica {
    in_flight: InFlight,
    term: Option<TermId>,
    beginning: Option<(Holder, JoinHandle<Result<OpenedTerm, StoreError>>)>,
    seen: Vec<(MessageId, Revision)>,
    claiming: Option<(ClaimId, Claiming)>,
    out: BTreeMap<MessageId, Out>,
}

/// The rows that are due, as they are: of an ordering key the first.
async fn look(due: &dyn DueRows) -> Vec<(MessageId, Revision)> {
    let mut headers = due.look(Shard(0), WalkStart::default(), 100).await.unwrap();
    headers.extend(due.next_keys(Shard(0), None, 100, 1, &[]).await.unwrap().headers);
    seen(&headers)
}

/// A row that was claimed and is not marked.
struct Out {
    term: TermId,
    claim: ClaimId,
    message: Message,
    on_the_wire: bool,
    verdict: (Verdict, &'static str),
}

impl<'a> Replicas<'a> {
    pub(super) async fn of(outbox: &'a Outbox, protocol: &Protocol) -> Self {
        let columns: &[(&str, &str)] = if protocol.ordered { &[("ordering_key", "'k'")] } else { &[] };
        let replica = || Replica {
            in_flight: InFlight::new(protocol.max_in_flight),
            term: None,
            beginning: None,
            seen: Vec::new(),
            claiming: None,
            out: BTreeMap::new(),
        };
        Self {
            outbox,
            parking: Parking::of(outbox).await,
            fleet: std::array::from_fn(|_| replica()),
            channels: [http()],
            terms: Vec::new(),
            messages: [outbox.insert(columns).await, outbox.insert(columns).await],
        }
    }

    pub(super) async fn take(&mut self, step: Step) -> Said {
        match step {
            // The stores know nothing of leases, nor of requests.
            Step::Forget | Step::Deliver(..) => Said::Done,
            Step::BeginTerm(replica) => self.begin_term(replica).await,
            Step::HandOver(replica) => self.hand_over(replica).await,
            Step::Look(replica) => self.look(replica).await,
            Step::Edit(message) => self.edit(message).await,
            Step::Select(replica) => self.select(replica).await,
            Step::Claim(replica) => self.claim(replica).await,
            Step::Gate(replica, message) => self.gate(replica, message).await,
            Step::Accept(replica, message) => {
                self.over(replica, message, (Verdict::Success { receipt: None }, "delivered"))
            }
            Step::Refuse(replica, message) => {
                self.over(replica, message, (Verdict::Retry { after: Duration::ZERO }, "retry"))
            }
            Step::Mark(replica, message) => self.mark(replica, message, true).await,
            Step::MarkUnanswered(replica, message) => self.mark(replica, message, false).await,
            Step::Settle(replica, _) => self.settle(replica).await,
            Step::End(_)
            | Step::Unseen(_)
            | Step::SelectUnseen(_)
            | Step::ClaimUnanswered(_)
            | Step::Release(_)
            | Step::AcceptUnanswered(..)
            | Step::TimeOut(..)
            | Step::Crash(_)
            | Step::Lag
            | Step::FailOver
            | Step::Mend(_) => panic!("no trace that is replayed has the step {step:?}"),
        }
    }

    async fn begin_term(&mut self, replica: usize) -> Said {
        let holder = Holder::new(&replica.to_string(), &self.terms.len().to_string());
        let store = self.outbox.store.clone();
        let beginning = tokio::spawn({
            let holder = holder.clone();
            async move { store.begin_term(Shard(0), &holder, Epoch(0)).await }
        });
        let claim_is_parked = self.parking.is_possible() && self.fleet.iter().any(|other| other.claiming.is_some());
        if claim_is_parked {
            until_blocked(self.outbox, || beginning.is_finished()).await;
        }
        let waits = claim_is_parked && !beginning.is_finished();
        self.fleet[replica].beginning = Some((holder, beginning));
        if waits {
            return Said::Waits;
        }
        self.begun(replica).await;
        Said::Done
    }

    async fn begun(&mut self, replica: usize) {
        let replica = &mut self.fleet[replica];
        let Some((holder, beginning)) = replica.beginning.take() else { return };
        let opened = beginning.await.unwrap().unwrap();
        replica.in_flight.set_unsettled(opened.epoch, &opened.unsettled);
        let term = TermId { shard: Shard(0), epoch: opened.epoch, holder };
        replica.term = Some(term.clone());
        self.terms.push(term);
    }

    async fn hand_over(&mut self, replica: usize) -> Said {
        let term = self.fleet[replica].term.take().unwrap();
        self.outbox.store.end_term(&term, TermEnd::Interval, TermCounts::default()).await.unwrap();
        Said::Done
    }

    async fn look(&mut self, replica: usize) -> Said {
        self.fleet[replica].seen = look(&*self.outbox.due()).await;
        Said::Done
    }

    async fn edit(&mut self, message: usize) -> Said {
        let id = self.messages[message];
        self.outbox.execute(&format!("UPDATE outbox SET revision = revision + 1 WHERE id = {id}")).await;
        Said::Done
    }

    /// Chooses, as a schedule does, and makes the claim, which stands still before its commit.
    async fn select(&mut self, replica: usize) -> Said {
        let Replica { in_flight, term, seen, .. } = &mut self.fleet[replica];
        let (term, room) = (term.clone().unwrap(), in_flight.free());
        let on_hold = in_flight.on_hold(&mut None).unwrap();
        let mut rows = std::mem::take(seen);
        rows.retain(|(id, _)| !in_flight.contains(*id) && !on_hold.contains(id));
        rows.truncate(room);
        if room == 0 {
            return Said::NoRoom;
        }
        if rows.is_empty() {
            return Said::LeftOut;
        }
        let (due, channels, claim) = (self.outbox.due(), self.channels.clone(), ClaimId::mint());
        self.parking.close().await;
        let claiming = tokio::spawn(async move {
            due.claim_rows(&term, &RowsToClaim { claim, rows: &rows, terms: &terms(&channels) }).await
        });
        if self.parking.is_possible() {
            until_parked(self.outbox, || claiming.is_finished()).await;
            if claiming.is_finished() {
                self.parking.open().await;
                let claimed = claiming.await.unwrap().unwrap();
                assert!(claimed.is_empty(), "a claim was answered before it committed");
                return Said::LeftOut;
            }
        } else {
            let claimed = claiming.await.unwrap().unwrap();
            if claimed.is_empty() {
                return Said::LeftOut;
            }
            self.fleet[replica].claiming = Some((claim, tokio::spawn(async move { Ok(claimed) })));
            return Said::Done;
        }
        self.fleet[replica].claiming = Some((claim, claiming));
        Said::Done
    }

    /// Lets the claim commit, and whoever waited for it go on.
    async fn claim(&mut self, replica: usize) -> Said {
        let Some((claim, answer)) = self.fleet[replica].claiming.take() else { return Said::LeftOut };
        self.parking.open().await;
        let claimed = answer.await.unwrap().unwrap();
        let owner = &mut self.fleet[replica];
        for message in owner.in_flight.admit(claim, claimed) {
            let term = owner.term.clone().unwrap();
            let verdict = (Verdict::Unsent, "unsent");
            owner.out.insert(message.id(), Out { term, claim, message, on_the_wire: false, verdict });
        }
        for waiting in 0..REPLICAS {
            self.begun(waiting).await;
        }
        Said::Done
    }

    /// Whoever looks now sees the claim, and nobody else has the row on the wire.
    async fn gate(&mut self, replica: usize, message: usize) -> Said {
        let id = self.messages[message];
        let elsewhere = self.fleet.iter().filter_map(|replica| replica.out.get(&id)).any(|out| out.on_the_wire);
        let out = self.fleet[replica].out.get_mut(&id);
        let Some(out) = out.filter(|out| out.verdict.0 == Verdict::Unsent) else { return Said::NotClaimed };
        assert!(!elsewhere, "two requests of message {id} are open at once");
        let claim = format!("outbox_claim WHERE epoch = {} AND holder = '{}'", out.term.epoch, out.term.holder);
        assert_eq!(self.outbox.count(&claim).await, 1, "nobody knows of what is sent");
        out.on_the_wire = true;
        Said::Done
    }

    fn over(&mut self, replica: usize, message: usize, verdict: (Verdict, &'static str)) -> Said {
        let out = self.fleet[replica].out.get_mut(&self.messages[message]).unwrap();
        (out.on_the_wire, out.verdict) = (false, verdict);
        Said::Done
    }

    async fn mark(&mut self, replica: usize, message: usize, answered: bool) -> Said {
        let replica = &mut self.fleet[replica];
        let id = self.messages[message];
        let out = &replica.out[&id];
        let (verdict, outcome) = out.verdict.clone();
        let marks: [Mark; 1] = [mark(&out.term, out.claim, &out.message, verdict, outcome)];
        let finished = replica.in_flight.finished_by(&marks);
        let report = self.outbox.store.mark(&marks, &finished).await.unwrap();
        if answered {
            replica.in_flight.release(&marks);
            replica.out.remove(&id);
        }
        if report.fenced.is_empty() { Said::Done } else { Said::Fenced }
    }

    async fn settle(&mut self, replica: usize) -> Said {
        let replica = &self.fleet[replica];
        let term = replica.term.as_ref().unwrap();
        let settlement = self.outbox.store.settle(term, &self.channels, &[]).await.unwrap();
        replica.in_flight.set_unsettled(term.epoch, &settlement.unsettled);
        if settlement.decided.is_empty() { Said::NotYet } else { Said::Done }
    }
}
