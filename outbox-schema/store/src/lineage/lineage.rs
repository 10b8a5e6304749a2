//! The lineage of a database server, and what replicas tell each other of it.

use std::fmt;

use crate::Epoch;

/// The history of commits that a database server goes on with. Two servers of one lineage have the same commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    server: String,
    timeline: u32,
}

impl Lineage {
    /// PostgreSQL: the identifier that all copies of a cluster share, and the timeline, which each promotion raises
    /// (<https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES>). The identifier may be unknown.
    pub(crate) fn of_postgres(system: Option<&str>, timeline: u32) -> Self {
        Self { server: format!("system {}", system.unwrap_or("unknown")), timeline }
    }

    /// MySQL and MariaDB: the server. Nothing orders two of them.
    pub(crate) fn of_mysql(server: String) -> Self {
        Self { server, timeline: 0 }
    }

    /// Whether the server of `other` was left behind: this is what a later promotion of the same database made.
    pub(crate) fn is_after(&self, other: &Self) -> bool {
        self.server == other.server && self.timeline > other.timeline
    }
}

/// In words, as the term log, logs and `/readyz` have it.
impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.timeline {
            0 => f.write_str(&self.server),
            timeline => write!(f, "timeline {timeline} of {}", self.server),
        }
    }
}

/// The highest epoch, and the newest lineage, that were seen of a shard. As a text: `EPOCH TIMELINE SERVER`. A lineage of timeline
/// 0 without a server is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The highest epoch.
    pub epoch: Epoch,
    /// The newest lineage. None where the database has none, or no connection was made yet.
    pub lineage: Option<Lineage>,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (timeline, server) = self.lineage.as_ref().map_or((0, ""), |it| (it.timeline, it.server.as_str()));
        write!(f, "{} {timeline} {server}", self.epoch)
    }
}

impl std::str::FromStr for Seen {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, ' ');
        let mut part = || parts.next().ok_or(());
        let (epoch, timeline, server) = (part()?, part()?, part()?);
        let (epoch, timeline) = (epoch.parse().map_err(drop)?, timeline.parse().map_err(drop)?);
        let lineage = (!server.is_empty()).then(|| Lineage { server: server.to_owned(), timeline });
        Ok(Self { epoch: Epoch(epoch), lineage })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_was_seen_is_read_as_it_was_written() {
        let lineages = [
            None,
            Some(Lineage::of_postgres(Some("7401"), 3)),
            Some(Lineage::of_mysql("db-1:3306 (server_id 7)".to_owned())),
        ];
        for lineage in lineages {
            let seen = Seen { epoch: Epoch(12), lineage };
            assert_eq!(seen.to_string().parse(), Ok(seen));
        }
        for text in ["", "1", "1 2", "x 1 system 7", "1 y system 7"] {
            assert_eq!(text.parse::<Seen>(), Err(()), "{text}");
        }
    }

    #[test]
    fn only_a_higher_timeline_of_the_same_database_is_later() {
        let of = |system: &str, timeline| Lineage::of_postgres(Some(system), timeline);
        assert!(of("7", 2).is_after(&of("7", 1)));
        assert!(
            !of("7", 1).is_after(&of("7", 1)) && !of("7", 1).is_after(&of("7", 2)) && !of("8", 2).is_after(&of("7", 1))
        );
        assert_eq!(of("7", 2).to_string(), "timeline 2 of system 7");
    }
}
