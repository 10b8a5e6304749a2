//! What this replica has seen of the others: who of them runs by other settings, and who refused the settings that it read last.

use std::collections::BTreeSet;

use outbox_desk::{ReplicaEntry, RunsBy};
use parking_lot::Mutex;

use outbox_dispatcher::reloadable::Reloadable;

/// The most settings that one sentence names.
const NAMED: usize = 4;

/// What there is to say of the settings of this replica and of the others, each in a sentence.
#[derive(Debug)]
pub struct Fleet {
    /// What this replica runs by.
    mine: Reloadable<RunsBy>,
    /// The sentences about others, as of the last row that this replica wrote.
    others: Mutex<Vec<String>>,
}

impl Fleet {
    /// The fleet of a replica that runs by `mine`, which has seen no other yet.
    pub fn of(mine: Reloadable<RunsBy>) -> Self {
        Self { mine, others: Mutex::default() }
    }

    /// The sentences: first the one about this replica.
    pub fn sentences(&self) -> Vec<String> {
        let mine = self.mine.current().refused.as_ref().map(ToString::to_string);
        let others = self.others.lock();
        mine.into_iter().chain(others.iter().cloned()).collect()
    }

    /// Replaces the sentences about others.
    pub(crate) fn replace(&self, others: Vec<String>) {
        *self.others.lock() = others;
    }
}

/// A sentence for each other replica that runs and refused the settings that it read last.
pub fn refusing(id: &str, replicas: &[ReplicaEntry]) -> Vec<String> {
    let others = replicas.iter().filter(|other| other.row.runs() && other.row.id != id);
    let refused = others.filter_map(|other| Some((&other.row, other.runs_by.as_ref()?.refused.as_ref()?)));
    refused.map(|(row, refused)| format!("the replica {} ({}): {refused}", row.name, row.id)).collect()
}

/// A sentence for each replica that runs by other settings than the replica `id`, which runs by `mine`.
pub fn differing(id: &str, mine: &RunsBy, replicas: &[ReplicaEntry]) -> Vec<String> {
    let hash = mine.settings_hash();
    let others = replicas.iter().filter(|other| other.row.runs() && other.row.id != id);
    let differing = others.filter(|other| other.settings_hash.as_ref().is_some_and(|its| *its != hash));
    differing.map(|other| sentence(mine, other)).collect()
}

fn sentence(mine: &RunsBy, other: &ReplicaEntry) -> String {
    let name = format!("the replica {} ({})", other.row.name, other.row.id);
    let Some(its) = &other.runs_by else { return format!("{name} runs by other settings than this one") };
    let differences = differences(its, mine);
    let more = match differences.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named: Vec<_> = differences.into_iter().take(NAMED).collect();
    format!("{name} runs by other settings than this one: {}{more}", named.join("; "))
}

/// What of `its` is not so in `mine`, setting by setting. The lease store comes first, since it decides who polls.
pub fn differences(its: &RunsBy, mine: &RunsBy) -> Vec<String> {
    let mut differences = Vec::new();
    let stores_differ = its.lease_store != mine.lease_store;
    if stores_differ {
        differences.push(format!("lease store {}, not {}", its.lease_store, mine.lease_store));
    }
    let (own, others) = (&its.channels, &mine.channels);
    let more = own.keys().filter(|name| !others.contains_key(*name));
    let fewer = others.keys().filter(|name| !own.contains_key(*name));
    let whole: Vec<_> = more.clone().chain(fewer.clone()).map(|name| format!("channels.{name}.")).collect();
    differences.extend(more.map(|name| format!("it has a channel {name}")));
    differences.extend(fewer.map(|name| format!("it has no channel {name}")));
    let keys: BTreeSet<_> = its.settings.keys().chain(mine.settings.keys()).collect();
    for key in keys.into_iter().filter(|key| !whole.iter().any(|channel| key.starts_with(channel))) {
        let value = |by: &RunsBy| by.settings.get(key).cloned().unwrap_or_else(|| "at its default".to_owned());
        let (its, mine) = (value(its), value(mine));
        let follows = stores_differ && matches!(key.as_str(), "lease.url" | "lease.provider");
        if its != mine && !follows {
            differences.push(format!("{key} {its}, not {mine}"));
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use outbox_desk::{ChannelRunsBy, RefusedSettings};

    use super::*;
    use crate::fixtures::{replica, runs_by as by};

    #[test]
    fn a_replica_with_another_lease_store_is_named_with_both_stores() {
        let mine = by("redis://cache", &[("lease.provider", "\"redis\""), ("lease.url", "\"redis://cache\"")]);
        let other = replica("b", by("table", &[("lease.provider", "\"table\"")]), 10);
        assert_eq!(
            differing("a", &mine, &[replica("a", mine.clone(), 0), other]),
            ["the replica host-b (b) runs by other settings than this one: lease store table, not redis://cache"]
        );
    }

    #[test]
    fn a_channel_that_one_of_two_replicas_lacks_is_named_whole() {
        let with = |channels: &[&str], settings: &[(&str, &str)]| {
            let channels = channels.iter().map(|name| ((*name).to_owned(), ChannelRunsBy::default())).collect();
            RunsBy { channels, ..by("table", settings) }
        };
        let push = [
            ("channels.push.kind", "\"fcm\""),
            ("channels.push.timeout", "\"9s\""),
            ("channels.pushy.timeout", "\"9s\""),
        ];
        let (one, other) = (with(&["push", "pushy"], &push), with(&["http", "pushy"], &[]));
        let timeout = "channels.pushy.timeout \"9s\", not at its default";
        assert_eq!(differences(&one, &other), ["it has a channel push", "it has no channel http", timeout]);
        let differing = differences(&other, &one);
        assert_eq!(differing[..2], ["it has a channel http", "it has no channel push"]);
    }

    #[test]
    fn few_settings_are_named_and_the_others_counted() {
        let many = [("a", "1"), ("b", "1"), ("c", "1"), ("d", "1"), ("e", "1")];
        let told = differing("a", &by("table", &[]), &[replica("b", by("table", &many), 10)]).join("\n");
        assert!(told.contains("a 1, not at its default; b 1, not at its default"), "{told}");
        assert!(told.ends_with("d 1, not at its default; and 1 more"), "{told}");
    }

    #[test]
    fn settings_that_were_refused_are_told_by_the_replica_itself_and_by_the_others() {
        let refused = RefusedSettings { at: "2026-05-01T10:00:00Z".to_owned(), why: "lease.ttl = 1".to_owned() };
        let wrong = RunsBy { refused: Some(refused), ..by("table", &[]) };
        let fleet = Fleet::of(Reloadable::new(wrong.clone()));
        let own = "what was read at 2026-05-01T10:00:00Z was refused, so the settings of before are in force until a restart, \
                   which reads the same: lease.ttl = 1";
        assert_eq!(fleet.sentences(), [own]);
        let rows = [replica("a", wrong.clone(), 10), replica("b", by("table", &[]), 10)];
        assert_eq!(refusing("b", &rows), [format!("the replica host-a (a): {own}")]);
        assert_eq!(refusing("a", &rows), Vec::<String>::new());
        assert_eq!(wrong.settings_hash(), by("table", &[]).settings_hash(), "it runs by the same settings");
        assert!(differing("b", &by("table", &[]), &rows).is_empty());
    }

    #[test]
    fn a_replica_that_is_gone_or_says_nothing_of_its_settings_does_not_differ() {
        let gone = replica("b", by("table", &[("a", "1")]), 3_600_000);
        let old = ReplicaEntry { settings_hash: None, ..replica("c", by("table", &[("a", "1")]), 10) };
        assert_eq!(differing("a", &by("table", &[]), &[gone, old]), Vec::<String>::new());
    }
}
