//! The scenarios, their sizes and their goals. The goals stand here and nowhere else.

use clap::ValueEnum;
use outbox_store::Dialect;
use serde::Serialize;

/// Something that is measured in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scenario {
    /// 100,000 due rows, beside raw HTTP and a bare table; and with 128 in flight.
    Drain,
    /// 1,000 single-row commits a second, from commit to receiver.
    Latency,
    /// A drain of 300,000 while a transaction keeps its snapshot, with hand-overs.
    Snapshot,
    /// A drain beside 5,000,000 delivered rows that are kept.
    History,
    /// A drain beside 1,000,000 rows due tomorrow and 100,000 that wait for a retry.
    Future,
    /// 1,000,000 due rows: the last tenth beside the first, and memory.
    Backlog,
    /// FCM: TLS, HTTP/2, 100 ms to an answer, 100 streams to a connection.
    Fcm,
    /// 1,000 ordering keys of 100 rows, and 100,000 of one; then one halted key of 100,000, and 100,000 that wait, beside
    /// unordered rows.
    Ordered,
    /// What an application pays: one row in its transaction, and 1,000 at once.
    Enqueue,
    /// A drain while 1,000,000 old rows are removed.
    Retention,
    /// A drain whose deliveries are kept: `record_deliveries`.
    Deliveries,
    /// 50 replicas with nothing due.
    Idle,
    /// 10,000 due rows behind 100,000 for a dead destination and as many for one that takes 10 s to answer.
    Destinations,
    /// 50 quiet tenants with 2 messages a second each, beside a tenant with 1,000,000 due rows for the same receiver.
    Fair,
    /// 10,000 healthy hosts with 5 messages each; then 10,000 due rows behind 100,000 for as many closed hosts.
    Hosts,
}

impl Scenario {
    /// The name of the scenario, as the operator types it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Latency => "latency",
            Self::Snapshot => "snapshot",
            Self::History => "history",
            Self::Future => "future",
            Self::Backlog => "backlog",
            Self::Fcm => "fcm",
            Self::Ordered => "ordered",
            Self::Enqueue => "enqueue",
            Self::Retention => "retention",
            Self::Deliveries => "deliveries",
            Self::Idle => "idle",
            Self::Destinations => "destinations",
            Self::Fair => "fair",
            Self::Hosts => "hosts",
        }
    }

    /// The rows to deliver in a round (for `enqueue`, to insert), unless the operator gives another number.
    pub(super) fn rows(self) -> usize {
        match self {
            Self::Drain
            | Self::History
            | Self::Future
            | Self::Ordered
            | Self::Retention
            | Self::Deliveries
            | Self::Enqueue => 100_000,
            Self::Latency | Self::Destinations => 10_000,
            Self::Snapshot => 300_000,
            Self::Backlog | Self::Fair => 1_000_000,
            Self::Hosts => 50_000,
            Self::Fcm => 150_000,
            Self::Idle => 0,
        }
    }
}

/// The goal for a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// The ratio must be this or more.
    AtLeast(f64),
    /// The ratio must be this or less.
    AtMost(f64),
}

impl Goal {
    /// Whether a measured ratio reaches the goal. A ratio that rounds to the goal reaches it.
    pub fn is_reached(self, ratio: f64) -> bool {
        let rounded = (ratio * 1_000.0).round() / 1_000.0;
        match self {
            Self::AtLeast(least) => rounded >= least,
            Self::AtMost(most) => rounded <= most,
        }
    }
}

/// The figures that have a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// R divided by 1/(1/H + 1/D), with everything on one machine.
    DrainOfComposed,
    /// The median time from commit to receiver, divided by that of a bare insert and POST.
    LatencyMedian,
    /// The 99th percentile of the same times, divided by that of a bare insert and POST.
    LatencySlowest,
    /// The rate while a transaction keeps its snapshot, divided by the rate without that transaction.
    Snapshot,
    /// The rate in the slowest whole window of five seconds while the snapshot is kept, divided by the rate without it.
    SnapshotWindow,
    /// The hand-overs during the drain.
    SnapshotHandOvers,
    /// The rate beside delivered rows that are kept, divided by the rate without them.
    History,
    /// The rate beside rows that are not due, divided by the rate without them.
    Future,
    /// The rate of the last tenth, divided by the rate of the first tenth.
    BacklogLastTenth,
    /// The peak memory at the end, divided by the peak memory after the first tenth.
    BacklogMemory,
    /// The rate, divided by the limit of the streams or by the rate of the bare client, whichever is lower.
    Fcm,
    /// The rate of rows with ordering keys, 100 rows to a key, divided by the rate of unordered rows.
    OrderedKeys,
    /// The rate of rows that each have their own ordering key, divided by the rate of unordered rows.
    OrderedKeysOfOne,
    /// The rate beside a halted ordering key, divided by the rate without it.
    OrderedHalted,
    /// The rate beside many ordering keys whose rows are not due, divided by the rate without them.
    OrderedWaiting,
    /// The statements that enqueue one message.
    EnqueueStatements,
    /// The rate of enqueuing 1,000 messages at once, divided by that of a bare insert of 1,000 rows.
    EnqueueBatch,
    /// The rate while old rows are removed, divided by the rate without that removal.
    Retention,
    /// The rate with a summary of each delivery, divided by the rate without.
    DeliveriesSummary,
    /// The rate with the answer of each delivery, divided by the rate without.
    DeliveriesFull,
    /// The Redis commands, divided by the number that the settings imply.
    IdleCommands,
    /// The commits, divided by the number that the settings imply.
    IdleCommits,
    /// The share of a core that an idle replica takes.
    IdleCpu,
    /// The rate beside a dead and a slow destination, divided by the rate without them.
    Destinations,
    /// The same from the start of the term.
    DestinationsWhole,
    /// The 99th percentile from commit to receiver of quiet tenants beside a noisy one, divided by that without it.
    FairSlowest,
    /// The rate of the noisy tenant meanwhile, divided by that of a plain drain.
    FairNoisy,
    /// The rate to many hosts, divided by that of a bare client with as many connections.
    Hosts,
    /// The peak memory meanwhile, in bytes.
    HostsMemory,
    /// The rate from the start of the term behind rows for closed hosts, divided by the rate without them.
    HostsClosed,
}

impl Measure {
    /// The goal, where this database has one.
    pub(super) fn goal(self, dialect: Dialect) -> Option<Goal> {
        let on = |postgres, mysql, sqlite| match dialect {
            Dialect::Postgres => postgres,
            Dialect::MySql => mysql,
            Dialect::Sqlite => sqlite,
        };
        let at_least = |ratio| Some(Goal::AtLeast(ratio));
        let at_most = |ratio| Some(Goal::AtMost(ratio));
        match self {
            Self::DrainOfComposed => on(at_least(0.85), at_least(0.75), None),
            // Only PostgreSQL gives a hint by itself. On the other databases the application must give it.
            Self::LatencyMedian | Self::LatencySlowest | Self::FairSlowest => on(at_most(3.0), None, None),
            Self::Snapshot => on(at_least(0.9), None, None),
            Self::SnapshotWindow => on(at_least(0.8), None, None),
            Self::SnapshotHandOvers => at_least(3.0),
            Self::History => on(at_least(0.9), at_least(0.9), None),
            Self::Future
            | Self::BacklogLastTenth
            | Self::OrderedHalted
            | Self::Retention
            | Self::DeliveriesSummary
            | Self::FairNoisy => at_least(0.9),
            Self::BacklogMemory => at_most(1.1),
            Self::Fcm
            | Self::EnqueueBatch
            | Self::Destinations
            | Self::DestinationsWhole
            | Self::Hosts
            | Self::HostsClosed => at_least(0.8),
            Self::HostsMemory => at_most(100.0 * 1_048_576.0),
            Self::OrderedKeys => at_least(0.5),
            Self::OrderedKeysOfOne | Self::OrderedWaiting | Self::DeliveriesFull => None,
            Self::EnqueueStatements => at_most(1.0),
            Self::IdleCommands | Self::IdleCommits => at_most(1.2),
            Self::IdleCpu => at_most(0.002),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_that_rounds_to_its_goal_reaches_it() {
        assert!(Goal::AtLeast(0.85).is_reached(0.8496));
        assert!(!Goal::AtLeast(0.85).is_reached(0.849));
        assert!(Goal::AtMost(3.0).is_reached(3.0004));
        assert!(!Goal::AtMost(3.0).is_reached(3.1));
    }

    #[test]
    fn a_scenario_is_typed_as_it_is_called() {
        for scenario in Scenario::value_variants() {
            assert_eq!(scenario.to_possible_value().map(|value| value.get_name() == scenario.name()), Some(true));
        }
    }
}
