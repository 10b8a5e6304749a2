//! An order in words, from what the audit says of it.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::MoveTarget;

/// What the audit says of an order, whatever its action.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    /// The number of messages that were named.
    ids: Option<u64>,
    filter: Option<Map<String, Value>>,
    /// The operation that is undone.
    redrive: Option<i64>,
    replay: Option<i64>,
    /// How long messages are kept that a prune leaves.
    success_ms: Option<u64>,
    dead_ms: Option<u64>,
    change: Option<SaidChange>,
    canary: Option<u32>,
    rate: Option<u32>,
    new_key: bool,
    again: bool,
    after: Option<i64>,
}

/// What the audit says of a change of content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SaidChange {
    target: Option<String>,
    move_target: Option<MoveTarget>,
    headers: Vec<String>,
    drop_headers: Vec<String>,
    keep_key: bool,
}

/// The order in words: which messages, then what becomes of them and how fast. None where the audit says nothing of it.
pub(super) fn in_words(order: &Value) -> Option<String> {
    let said = Said::deserialize(order).ok()?;
    let words: Vec<String> = said.which().into_iter().chain(said.how()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

impl Said {
    fn which(&self) -> Vec<String> {
        let one_of = [
            self.ids.map(|ids| format!("{ids} by id")),
            self.redrive.map(|id| format!("redrive {id}")),
            self.replay.map(|id| format!("replay {id}")),
            self.success_ms.map(|ms| format!("delivered for longer than {}", kept(ms))),
            self.dead_ms.map(|ms| format!("dead for longer than {}", kept(ms))),
        ];
        let filter = self.filter.iter().flat_map(|filter| {
            let all = filter.is_empty().then(|| "all".to_owned());
            all.into_iter().chain(filter.iter().map(|(condition, value)| condition_in_words(condition, value)))
        });
        one_of.into_iter().flatten().chain(filter).collect()
    }

    fn how(&self) -> Vec<String> {
        let change = self.change.iter().flat_map(SaidChange::in_words);
        let rest = [
            self.new_key.then(|| "under new keys".to_owned()),
            self.again.then(|| "also those that were replayed before".to_owned()),
            self.after.map(|id| format!("behind message {id}")),
            self.canary.map(|canary| format!("{canary} at the most")),
            self.rate.map(|rate| format!("{rate} a second")),
        ];
        change.chain(rest.into_iter().flatten()).collect()
    }
}

impl SaidChange {
    fn in_words(&self) -> Vec<String> {
        let target = self.target.iter().map(|target| format!("the target becomes {target}"));
        let moved = self.move_target.iter().map(|moved| format!("targets move from {} to {}", moved.from, moved.to));
        let set = self.headers.iter().map(|name| format!("header {name} is set"));
        let dropped = self.drop_headers.iter().map(|name| format!("header {name} is taken away"));
        let keys = self.keep_key.then(|| "the keys stay".to_owned());
        target.chain(moved).chain(set).chain(dropped).chain(keys).collect()
    }
}

/// A time for which messages are kept: in days where it is whole days, since months and years are of no fixed length.
fn kept(ms: u64) -> String {
    const DAY: u64 = 86_400_000;
    if ms > 0 && ms.is_multiple_of(DAY) {
        return format!("{}d", ms / DAY);
    }
    humantime::format_duration(std::time::Duration::from_millis(ms)).to_string()
}

/// `status_code`: 500 as `status code 500`.
fn condition_in_words(condition: &str, value: &Value) -> String {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("{} {value}", condition.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_order_is_told_in_words() {
        for (order, words) in [
            (json!({"filter": {}, "meant": 7, "canary": null, "rate": null}), Some("all")),
            (
                json!({"filter": {"channel": "hook", "status_code": 500, "tags": "order=4711"}, "canary": 10, "rate": 100}),
                Some("channel hook, status code 500, tags order=4711, 10 at the most, 100 a second"),
            ),
            (
                json!({"ids": 3, "meant": 3, "new_key": true, "again": true, "after": 17}),
                Some("3 by id, under new keys, also those that were replayed before, behind message 17"),
            ),
            (json!({"redrive": 12}), Some("redrive 12")),
            (json!({"success_ms": 86_400_000, "dead_ms": null}), Some("delivered for longer than 1d")),
            (
                json!({"success_ms": 0, "dead_ms": 7_776_000_000_u64}),
                Some("delivered for longer than 0s, dead for longer than 90d"),
            ),
            (
                json!({"ids": 1, "change": {"move_target": {"from": "https://a", "to": "https://b"}, "headers": ["X-A"],
                       "drop_headers": ["X-B"], "keep_key": true}}),
                Some(
                    "1 by id, targets move from https://a to https://b, header X-A is set, header X-B is taken away, \
                      the keys stay",
                ),
            ),
            (json!({}), None),
            (json!("of another release"), None),
        ] {
            assert_eq!(in_words(&order).as_deref(), words, "{order}");
        }
    }
}
