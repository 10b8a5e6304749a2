//! What was found last of commits that wait for a standby.

const NO_STANDBY: &str =
    "claims wait for a standby that is not there, or far behind: see synchronous_standby_names and pg_stat_replication";

/// Commits that wait for a standby.
#[derive(Debug, Default)]
pub(super) struct Standby {
    /// Those that the last question found.
    waiting: Vec<String>,
    /// Whether one of them was found twice, or none can wait.
    gone: bool,
    /// Why the server is none to dispatch from, by what it says of its replication.
    refused: Option<String>,
}

impl Standby {
    /// Notes which commits wait, each by a name of its own: `none` where none can wait, and should.
    pub(super) fn found(&mut self, waiting: Vec<String>) {
        // A commit that waits for a moment is found once.
        let gone = waiting.iter().any(|commit| commit == "none" || self.waiting.contains(commit));
        if gone && !self.gone {
            tracing::warn!("database.standby_is_gone: {NO_STANDBY}");
        }
        (self.waiting, self.gone) = (waiting, gone);
    }

    /// Notes why the server is none to dispatch from. None where it is one.
    pub(super) fn refuse_for(&mut self, why: Option<String>) {
        if let Some(error) = why.as_ref().filter(|_| self.refused != why) {
            tracing::warn!(error, "database.not_replicated");
        }
        self.refused = why;
    }

    /// Why claims wait for a standby that is not there. None where they do not.
    pub(super) fn is_gone(&self) -> Option<&'static str> {
        self.gone.then_some(NO_STANDBY)
    }

    /// Why the server is none to dispatch from.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refused.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_is_gone_where_one_commit_waits_for_it_from_one_question_to_the_next() {
        let mut standby = Standby::default();
        let mut found = |commits: &[&str]| {
            standby.found(commits.iter().map(|&commit| commit.to_owned()).collect());
            standby.is_gone().is_some()
        };
        assert!(!found(&["1 a"]) && !found(&["1 b", "2 a"]) && found(&["2 a"]) && !found(&[]) && !found(&["2 a"]));
        assert!(found(&["none"]) && !found(&[]));
    }
}
