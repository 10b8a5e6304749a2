//! What the model keeps in mind: the lease store, the tables, the memories of the processes, and what the receiver saw.

use crate::promise::Promise;

/// Replicas of the fleet.
pub const REPLICAS: usize = 3;
/// Messages of the outbox.
pub const MESSAGES: usize = 2;
/// Attempts that a message has: `max_attempts`.
pub const BUDGET: u8 = 2;
/// A revision that no row has. It stands for all of which the row has moved on.
pub(crate) const MOVED_ON: u8 = u8::MAX;

/// One moment of the whole system.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Terms that the lease store remembers. Only an epoch that does not come from the database is taken from here.
    pub counted: u8,
    /// The terms that were ever begun, also those that the database forgot.
    pub terms: Vec<Term>,
    /// `outbox_term`: the index of the newest term that the database knows.
    pub newest: Option<usize>,
    /// `outbox_claim`.
    pub claims: Vec<Claim>,
    /// `outbox`, and what became of each message outside.
    pub messages: [Message; MESSAGES],
    /// The replicas.
    pub processes: [Process; REPLICAS],
    /// Processes that may still die.
    pub crashes: u8,
    /// The standby of the database.
    pub standby: Standby,
    /// Marks that the standby lacks, in the journals of the processes that wrote them, whether they were answered or not.
    pub journal: Vec<Marked>,
    /// The first promise that was broken on the way here.
    pub broken: Option<Promise>,
}

/// A term, and the gate in the memory of the process that leads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Term {
    /// The fencing token.
    pub epoch: u8,
    /// Whether its gate is open: trusted, and not ended.
    pub open: bool,
}

/// A row of `outbox_claim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claim {
    /// Index of the term that made it.
    pub term: usize,
    /// Its messages, each with the revision at which it was claimed.
    pub revisions: [Option<u8>; MESSAGES],
    /// Whether `superseded_at` is set.
    pub superseded: bool,
    /// Whether `gate_closed_at` is set although the gate is open. (Where it is closed, the mark in the table says no
    /// more than the gate.)
    pub misled: bool,
    /// Whether its process never heard that it was made, and sends nothing of it.
    pub given_up: bool,
}

/// A row of `outbox`, and what the receiver knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Message {
    /// `status`, with `dead_reason`.
    pub status: Status,
    /// `revision`.
    pub revision: u8,
    /// `attempts`.
    pub attempts: u8,
    /// Requests written, less `attempts`.
    pub uncounted: i8,
    /// Requests accepted, less attempts in doubt (where a doubt allows another send).
    pub unexplained: i8,
}

/// `status` and `dead_reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Due.
    Pending,
    /// Delivered.
    Success,
    /// Given up after its last attempt.
    Exhausted,
    /// Given up because it may have been delivered.
    InDoubt,
}

/// What one process remembers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its leadership.
    pub lead: Lead,
    /// The claim that it is making of what looks have shown.
    pub claiming: Claiming,
    /// Where a look that claims at once is under way: what it was told to pass over.
    pub unseen: Option<[bool; MESSAGES]>,
    /// What it has in flight, of whichever term.
    pub attempts: [Option<Attempt>; MESSAGES],
}

/// The way from one term to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Lead {
    /// Campaigns.
    #[default]
    Candidate,
    /// Leads the term of this index, or has just seen its end.
    Leads(usize),
}

/// How far a claim has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Claiming {
    /// None is being made.
    #[default]
    Not,
    /// These rows were due, at these revisions, when a look saw them. They may have changed since.
    Seen([Option<u8>; MESSAGES]),
    /// The transaction is open: the term was proved, and these rows were due, at these revisions.
    Selected([Option<u8>; MESSAGES]),
}

/// A claimed row on its way to its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attempt {
    /// Index of the term under which it was claimed.
    pub term: usize,
    /// The revision that was claimed.
    pub revision: u8,
    /// How far it has come.
    pub stage: Stage,
    /// Whether its mark has counted it, in a try whose answer was lost.
    pub counted: bool,
}

/// How far an attempt has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Claimed; the gate was not asked yet.
    Claimed,
    /// The gate was open; nothing is written yet.
    Passed,
    /// The request is written, and may be accepted.
    Sent,
    /// The attempt is over, and its mark not yet written.
    Over(Outcome),
}

/// The outcomes that differ for the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Accepted, and we know it.
    Delivered,
    /// Not accepted, and we know it.
    Retry,
    /// Written, and no answer came.
    InDoubt,
    /// The gate was closed.
    Unsent,
}

/// The standby of the database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Standby {
    /// It has all that was committed.
    Follows,
    /// It has what was committed until a moment ago.
    Lags(Box<Past>),
    /// It is the database now, of another lineage. These processes have still to write again what they know.
    Promoted([bool; REPLICAS]),
}

/// The database as it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Past {
    /// [`State::newest`].
    pub newest: Option<usize>,
    /// [`State::claims`].
    pub claims: Vec<Claim>,
    /// [`State::messages`], with what became of them outside until now.
    pub messages: [Message; MESSAGES],
}

/// A mark in the journal of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Marked {
    /// The process.
    pub replica: usize,
    /// The message.
    pub message: usize,
    /// The attempt whose outcome was marked.
    pub attempt: Attempt,
}

impl Standby {
    /// Whether it lacks what is committed now.
    pub fn lags(&self) -> bool {
        matches!(self, Self::Lags(_))
    }

    /// Whether this process has still to write something again.
    pub fn awaits(&self, replica: usize) -> bool {
        matches!(self, Self::Promoted(processes) if processes[replica])
    }

    /// Whether any process has still to write something again.
    pub fn awaits_any(&self) -> bool {
        (0..REPLICAS).any(|replica| self.awaits(replica))
    }
}

impl State {
    /// So many messages are due, and nobody has campaigned yet.
    pub fn first(due: usize, crashes: u8) -> Self {
        let message = Message { status: Status::Pending, revision: 0, attempts: 0, uncounted: 0, unexplained: 0 };
        let delivered = Message { status: Status::Success, ..message };
        Self {
            counted: 0,
            terms: Vec::new(),
            newest: None,
            claims: Vec::new(),
            messages: std::array::from_fn(|m| if m < due { message } else { delivered }),
            processes: [Process::default(); REPLICAS],
            crashes,
            standby: Standby::Follows,
            journal: Vec::new(),
            broken: None,
        }
    }

    /// Whether a claim names this message as the row is now.
    pub fn is_named(&self, message: usize, claims: impl Fn(&Claim) -> bool) -> bool {
        let row = &self.messages[message];
        row.status == Status::Pending
            && self.claims.iter().any(|claim| claims(claim) && claim.revisions[message] == Some(row.revision))
    }

    /// Whether an attempt at this message, under a claim of this term where one is asked for, is in such a stage.
    pub fn is_in_flight(&self, message: usize, term: Option<usize>, stage: impl Fn(Stage) -> bool) -> bool {
        let attempts = self.processes.iter().filter_map(|process| process.attempts[message]);
        attempts.filter(|attempt| term.is_none_or(|term| attempt.term == term)).any(|attempt| stage(attempt.stage))
    }

    /// Changes what became of a message outside: no failover takes that back.
    pub fn witness(&mut self, message: usize, change: impl Fn(&mut Message)) {
        change(&mut self.messages[message]);
        if let Standby::Lags(past) = &mut self.standby {
            change(&mut past.messages[message]);
        }
    }

    /// Whether no row is in two claims at one revision.
    pub fn claims_are_disjoint(&self) -> bool {
        let apart = |one: &Claim, other: &Claim| {
            (0..MESSAGES).all(|m| one.revisions[m].is_none() || one.revisions[m] != other.revisions[m])
        };
        let rest = |place: usize| &self.claims[place + 1..];
        self.claims.iter().enumerate().all(|(place, one)| rest(place).iter().all(|other| apart(one, other)))
    }

    /// Whether anything remembers this message as it is now.
    fn is_remembered(&self, message: usize) -> bool {
        let remembers = |process: &Process| match process.claiming {
            Claiming::Seen(rows) | Claiming::Selected(rows) if rows[message].is_some() => true,
            Claiming::Seen(_) | Claiming::Selected(_) | Claiming::Not => {
                process.attempts[message].is_some_and(|attempt| attempt.revision != MOVED_ON)
            }
        };
        self.claims.iter().any(|claim| claim.revisions[message].is_some()) || self.processes.iter().any(remembers)
    }

    /// Forgets what no step will look at again: of a look or a claim the rows that have moved on; of an attempt at such a
    /// row what its mark would say, since it will be refused; of a message that is finished, and of which nothing is under
    /// way, all but that; and how high a revision is that nothing remembers. Nothing while commits may be lost.
    pub fn forget(&mut self) {
        if self.standby.lags() || self.standby.awaits_any() {
            return;
        }
        let rows = self.messages;
        let moved_on = |m: usize, revision: u8| rows[m].status != Status::Pending || rows[m].revision != revision;
        for claim in &mut self.claims {
            for m in 0..MESSAGES {
                claim.revisions[m] = claim.revisions[m].filter(|revision| !moved_on(m, *revision));
            }
        }
        self.claims.retain(|claim| claim.revisions.iter().any(Option::is_some));
        self.claims.sort_unstable();
        let terms = &self.terms;
        for process in &mut self.processes {
            for m in 0..MESSAGES {
                if let Claiming::Seen(seen) = &mut process.claiming {
                    seen[m] = seen[m].filter(|revision| !moved_on(m, *revision));
                }
                if let Some(told) = &mut process.unseen {
                    told[m] &= rows[m].status == Status::Pending;
                }
                if let Some(attempt) = &mut process.attempts[m]
                    && attempt.stage == Stage::Claimed
                    && !terms[attempt.term].open
                {
                    attempt.stage = Stage::Over(Outcome::Unsent);
                }
                if let Some(attempt) = &mut process.attempts[m]
                    && moved_on(m, attempt.revision)
                {
                    attempt.revision = MOVED_ON;
                    if matches!(attempt.stage, Stage::Over(_)) {
                        let stage = Stage::Over(Outcome::Unsent);
                        *attempt = Attempt { term: 0, revision: MOVED_ON, stage, counted: false };
                    }
                }
            }
            if process.claiming == Claiming::Seen([None; MESSAGES]) {
                process.claiming = Claiming::Not;
            }
        }
        for m in 0..MESSAGES {
            let row = self.messages[m];
            if row.status != Status::Pending && !self.is_in_flight(m, None, |stage| !matches!(stage, Stage::Over(_))) {
                self.messages[m] = Message { revision: 0, attempts: 0, uncounted: 0, unexplained: 0, ..row };
            }
            if row.status == Status::Pending && !self.is_remembered(m) {
                self.messages[m].revision = row.attempts;
            }
        }
    }
}
