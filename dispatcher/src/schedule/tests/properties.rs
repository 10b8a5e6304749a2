//! Rules that hold for whatever rows there are, in whatever order they are found, marked and refused.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::Header;
use proptest::prelude::*;

use super::fake::{Bench, row_to};
use crate::schedule::Capacity;

const CAPACITY: Capacity = Capacity { slots: 16, bytes: 2000, headers: 64 };

fn rows() -> impl Strategy<Value = Vec<Header>> {
    let row = (0_u8..4, 0..6, 0..8, proptest::option::weighted(0.3, 0..3), 10_u64..400, 0_i64..50);
    proptest::collection::vec(row, 1..200).prop_map(|rows| {
        let row =
            |(id, (priority, tenant, destination, key, bytes, at)): (i64, (_, i32, i32, Option<i32>, _, _))| Header {
                priority,
                at,
                bytes,
                key: key.map(|key| format!("k{key}").into()),
                ..row_to(id, &format!("t{tenant}"), &format!("d{destination}"))
            };
        (1..).zip(rows).map(row).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Takes and marks all there is, and checks each take.
    #[test]
    fn each_row_goes_once_within_all_bounds_and_nothing_is_forgotten(
        rows in rows(),
        windows in proptest::collection::vec(1_usize..6, 8),
        slow_start in 0..8,
        marked in proptest::collection::vec(0_usize..5, 1..20),
    ) {
        let mut bench = Bench::of(CAPACITY);
        bench.rooms.windows = (0..).zip(&windows).map(|(number, window)| (format!("d{number}"), *window)).collect();
        bench.rooms.slow_start = (0..slow_start).map(|number| format!("d{number}")).collect();
        let mut left: BTreeMap<i64, Header> = rows.into_iter().map(|row| (row.id.0, row)).collect();
        let mut in_flight: Vec<Header> = Vec::new();
        for marks in marked.iter().cycle() {
            if left.is_empty() && in_flight.is_empty() {
                return Ok(());
            }
            // A whole round finds all that is due.
            let flying: BTreeSet<i64> = in_flight.iter().map(|row| row.id.0).collect();
            let due = left.values().filter(|row| !flying.contains(&row.id.0));
            let (keyed, others): (Vec<Header>, Vec<Header>) = due.cloned().partition(|row| row.key.is_some());
            bench.add(keyed.into_iter().take(20));
            bench.schedule.add_lanes(&by_lane(others), 8, &mut bench.rooms, bench.now);
            let batch = bench.take_headers(16);
            for row in &batch {
                let first_of_key = |other: &&Header| row.key.is_some() && other.key == row.key;
                prop_assert_eq!(left.values().find(first_of_key).map_or(row.id, |first| first.id), row.id);
                prop_assert!(left.contains_key(&row.id.0), "{:?} went twice", row);
            }
            in_flight.extend(batch);
            prop_assert!(!in_flight.is_empty(), "nothing goes, though {} are due: {:?}", left.len(), bench.schedule.waiting());
            let bytes: u64 = in_flight.iter().map(|row| row.bytes).sum();
            prop_assert!(bytes <= CAPACITY.bytes);
            for (destination, window) in &bench.rooms.windows {
                prop_assert!(bench.rooms.in_flight.get(destination).is_none_or(|has| has <= window));
            }
            for row in in_flight.drain(..(*marks).max(1).min(in_flight.len())) {
                left.remove(&row.id.0);
                bench.finish([row.id.0]);
            }
            bench.now += Duration::from_millis(100);
        }
    }

    /// A lane that can go waits for a turn of each other, and of one lane in eight more: lanes that had nothing go first for so
    /// long only.
    #[test]
    fn no_lane_waits_for_more_than_one_turn_of_each_other(tenants in 2_usize..20, each in 5_usize..30) {
        let mut bench = Bench::new(100_000);
        let ids = (1..).zip(0..tenants * each);
        bench.add(ids.map(|(id, number)| row_to(id, &format!("t{}", number % tenants), "d")));
        let order: Vec<String> = bench.take_headers(100_000).iter().map(|row| row.lane.tenant.to_string()).collect();
        prop_assert_eq!(order.len(), tenants * each);
        for tenant in (0..tenants).map(|number| format!("t{number}")) {
            let places: Vec<usize> = (0..order.len()).filter(|place| order[*place] == tenant).collect();
            let longest = places.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0);
            prop_assert!(longest <= tenants * 5 && places[0] <= tenants * 5);
        }
    }

    /// Within a lane no row goes before one of a higher priority, or an older one, that can go.
    #[test]
    fn priority_and_time_hold_within_each_lane(rows in rows()) {
        let mut bench = Bench::of(Capacity { slots: 1000, bytes: 1 << 30, headers: 1000 });
        bench.add(rows.into_iter().map(|row| Header { key: None, ..row }));
        let mut last: BTreeMap<String, (u8, i64, MessageId)> = BTreeMap::new();
        for row in bench.take_headers(1000) {
            let rank = (u8::MAX - row.priority, row.at, row.id);
            let earlier = last.insert(row.lane.tenant.to_string(), rank);
            prop_assert!(earlier.is_none_or(|earlier| earlier < rank));
        }
    }
}

/// Rows as a round brings them: lane by lane, eight of each priority.
fn by_lane(mut rows: Vec<Header>) -> Vec<Header> {
    rows.sort_by_key(|row| (row.lane.clone(), u8::MAX - row.priority, row.at, row.id));
    let mut met: BTreeMap<_, usize> = BTreeMap::new();
    rows.retain(|row| {
        let met = met.entry((row.lane.clone(), row.priority)).or_default();
        *met += 1;
        *met <= 8
    });
    rows
}
