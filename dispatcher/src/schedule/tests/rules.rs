//! The rules of the schedule, one test each.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::{Header, LaneLook, Revision, WalkStart};
use tokio::time::Instant;

use super::fake::{Bench, keyed, row, row_to};
use crate::schedule::Capacity;
use crate::schedule::{Shows, WhyNot};

fn tenants(batch: &[Header]) -> String {
    batch.iter().map(|header| &*header.lane.tenant).collect()
}

#[test]
fn lanes_take_turns_of_four_messages() {
    let mut bench = Bench::new(64);
    bench.add((1..=10).map(|id| row(id, "a")).chain((11..=20).map(|id| row(id, "b"))));
    assert_eq!(tenants(&bench.take_headers(18)), "aaaabbbbaaaabbbbaa");
    assert_eq!(tenants(&bench.take_headers(2)), "bb");
}

#[test]
fn channels_take_turns_however_many_tenants_one_has() {
    let mut bench = Bench::new(64);
    let of = |channel: &str, id, tenant: &str| {
        let mut row = row(id, tenant);
        row.lane.channel = channel.into();
        row
    };
    bench.add((1..=50).map(|id| of("mail", id, &format!("m{id}"))).chain((51..=60).map(|id| of("http", id, "h"))));
    let batch = bench.take_headers(20);
    assert!(batch.iter().filter(|header| &*header.lane.channel == "http").count() >= 10, "{}", tenants(&batch));
}

#[test]
fn a_turn_is_no_more_than_64_kib() {
    let mut bench = Bench::new(64);
    let large = |id| Header { bytes: 100 * 1024, ..row(id, "a") };
    bench.add((1..=4).map(large).chain((5..=20).map(|id| row(id, "b"))));
    assert_eq!(tenants(&bench.take_headers(11)), "abbbbabbbbb", "100 KiB count as 7 messages: a debt of 3");
}

#[test]
fn a_lane_that_had_nothing_goes_before_those_that_wait_for_their_next_turn() {
    let mut bench = Bench::new(64);
    bench.add((1..=30).map(|id| row(id, "a")).chain((31..=60).map(|id| row(id, "b"))));
    bench.take(8);
    bench.add([row(61, "c")]);
    assert_eq!(tenants(&bench.take_headers(5)), "caaaa");
}

#[test]
fn lanes_that_had_nothing_keep_no_other_waiting_for_ever() {
    let mut bench = Bench::new(512);
    bench.add((1..=40).map(|id| row(id, "busy")));
    bench.take(4);
    bench.add((100..200).map(|id| row(id, &format!("n{id}"))));
    let batch = bench.take_headers(30);
    assert!(batch.iter().any(|header| &*header.lane.tenant == "busy"), "{}", tenants(&batch));
}

#[test]
fn within_a_lane_messages_go_by_priority_and_then_by_time() {
    let mut bench = Bench::new(64);
    let urgent = |id, priority| Header { priority, ..row(id, "a") };
    bench.add([row(1, "a"), row(2, "a"), urgent(3, 1), urgent(4, 3), urgent(5, 3)]);
    bench.add([Header { at: 0, ..row(6, "a") }]);
    assert_eq!(bench.take(64), [4, 5, 3, 6, 1, 2]);
}

#[test]
fn without_fairness_messages_of_a_channel_go_by_priority_and_time_whoever_wrote_them() {
    let mut bench = Bench::new(64);
    bench.rooms.unfair = true;
    bench.add([row(1, "a"), row(2, "a"), row(3, "a"), row(4, "b"), row(5, "a"), row(6, "b")]);
    bench.add([Header { priority: 1, ..row(7, "b") }]);
    assert_eq!(bench.take(64), [7, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_destination_gets_no_more_than_it_has_room_for_and_holds_up_no_other_of_its_lane() {
    let mut bench = Bench::new(64);
    bench.rooms.windows.insert("slow".to_owned(), 2);
    bench.add((1..=5).map(|id| row_to(id, "a", "slow")).chain((6..=8).map(|id| row_to(id, "a", "quick"))));
    assert_eq!(bench.take(64), [1, 2, 6, 7, 8]);
    assert_eq!(bench.schedule.why_not(MessageId(3)), Some(WhyNot::Full));
    assert_eq!(bench.schedule.waiting_for("slow").into_iter().collect::<Vec<_>>(), [(WhyNot::Full, 3)]);
    bench.answer([1]);
    assert_eq!(bench.take(64), [3]);
}

#[test]
fn what_is_parked_with_a_destination_goes_as_far_as_it_has_room_once_it_answers() {
    let mut bench = Bench::new(64);
    bench.rooms.window = 1;
    bench.add((1..=20).map(|id| row_to(id, &format!("t{id}"), "shop")));
    assert_eq!(bench.take(64).len(), 1);
    bench.rooms.window = 10;
    bench.answer([1]);
    assert_eq!(bench.take(64).len(), 10, "not just the two that are tried");
}

#[test]
fn a_closed_destination_is_asked_again_when_it_opens() {
    let mut bench = Bench::new(64);
    let opens = bench.now + Duration::from_millis(300);
    bench.rooms.closed.insert("down".to_owned(), Some(opens));
    bench.add([row(1, "down")]);
    assert!(bench.take(64).is_empty());
    assert_eq!(bench.schedule.why_not(MessageId(1)), Some(WhyNot::Closed));
    assert_eq!(bench.schedule.next_opening(), Some(opens));
    bench.now = opens;
    assert_eq!(bench.take(64), [1]);
}

#[test]
fn a_destination_that_got_room_without_a_word_is_asked_again_within_a_second() {
    let mut bench = Bench::new(64);
    bench.rooms.closed.insert("paused".to_owned(), None);
    bench.add([row(1, "paused")]);
    assert!(bench.take(64).is_empty());
    bench.rooms.closed.clear();
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.take(64), [1]);
}

#[test]
fn of_a_key_one_is_in_flight_and_the_first() {
    let mut bench = Bench::new(64);
    bench.add([keyed(2, "a", "k"), keyed(1, "a", "k"), keyed(3, "b", "k"), keyed(4, "a", "other")]);
    assert_eq!(bench.take(64), [1, 4], "whatever tenants they are of");
    assert_eq!(bench.schedule.why_not(MessageId(2)), Some(WhyNot::Key));
    bench.answer([1]);
    assert!(bench.take(64).is_empty(), "it is not marked yet");
    bench.schedule.finished(MessageId(1), false);
    assert_eq!(bench.take(64), [2]);
}

#[test]
fn a_row_of_a_key_that_commits_late_goes_first_where_none_is_in_flight() {
    let mut bench = Bench::new(64);
    bench.add([keyed(5, "a", "k")]);
    bench.add([keyed(3, "a", "k")]);
    assert_eq!(bench.take(64), [3]);
    bench.finish([3]);
    assert_eq!(bench.take(64), [5]);
}

#[test]
fn a_message_that_goes_again_takes_all_of_its_key_with_it() {
    let mut bench = Bench::new(64);
    bench.add([keyed(1, "a", "k"), keyed(2, "a", "k")]);
    assert_eq!(bench.take(64), [1]);
    bench.answer([1]);
    bench.schedule.finished(MessageId(1), true);
    assert!(bench.take(64).is_empty(), "they are found again");
    assert_eq!(bench.schedule.why_not(MessageId(2)), None);
}

#[test]
fn a_slot_is_taken_until_the_mark() {
    let mut bench = Bench::new(2);
    bench.add((1..=4).map(|id| row(id, "a")));
    assert_eq!(bench.take(64), [1, 2]);
    bench.answer([1, 2]);
    assert!(bench.take(64).is_empty());
    bench.schedule.finished(MessageId(1), false);
    assert_eq!(bench.take(64), [3]);
}

#[test]
fn the_last_eighth_of_the_slots_is_for_lanes_with_little_in_flight() {
    let mut bench = Bench::new(64);
    bench.add((1..=200).map(|id| row(id, "busy")).chain([row(300, "quiet")]));
    assert_eq!(bench.take(64).len(), 56);
    bench.add((301..=312).map(|id| row(id, "quiet")));
    assert_eq!(
        tenants(&bench.take_headers(64)),
        "quiet".repeat(4),
        "the last of them are for lanes with nothing in flight"
    );
    bench.add([row(400, "quietest"), row(401, "quietest")]);
    assert_eq!(tenants(&bench.take_headers(64)), "quietest");
}

#[test]
fn a_lane_with_less_than_half_an_equal_part_has_more_of_the_last_eighth_than_one_with_more() {
    let mut bench = Bench::new(512);
    for lane in ["a", "b", "c"] {
        let first = i64::from(lane.as_bytes()[0]) * 1_000;
        bench.add((first..first + 300).map(|id| row(id, lane)));
    }
    assert_eq!(bench.take(512).len(), 448);
    bench.add((1..=100).map(|id| row(id, "quick")));
    assert_eq!(tenants(&bench.take_headers(512)), "quick".repeat(32));
}

#[test]
fn rows_amid_more_of_slow_start_of_their_own_tenant_than_a_lane_may_have_here_are_found() {
    let mut bench = Bench::new(8);
    let of = |id: i64, host: String| Header { destination: host.as_str().into(), ..row(id, "tenant") };
    let rows: Vec<_> = (1..=600).map(|id| of(id, format!("silent {id}"))).chain([of(601, "good".to_owned())]).collect();
    (1..=600).for_each(|id| assert!(bench.rooms.slow_start.insert(format!("silent {id}"))));
    let mut found = false;
    bench.add(rows[..64].to_vec());
    for _ in 0..200 {
        found |= bench.take(8).contains(&601);
        let Some((lanes, limit)) = bench.schedule.hungry(bench.now) else { continue };
        let behind = lanes[0].behind;
        let page = rows.iter().filter(|row| behind.is_before(row.priority.into(), row.at, row.id.0));
        let page: Vec<_> = page.take(limit as usize).cloned().collect();
        bench.schedule.add_fed(&lanes, limit, page, &mut bench.rooms, bench.now);
    }
    assert!(found);
}

#[test]
fn of_the_keys_of_a_closed_destination_a_part_is_here_and_the_round_over_them_brings_nothing_new() {
    let mut bench = Bench::new(64);
    bench.rooms.closed.insert("down".to_owned(), None);
    let rows: Vec<_> = (1..=20_000).map(|id| keyed(id, "down", &format!("k{id}"))).collect();
    for _ in 0..3 {
        bench.schedule.add_keys(rows.clone(), &mut bench.rooms, bench.now);
        assert!(bench.take(64).is_empty());
    }
    let again = bench.schedule.add_keys(rows, &mut bench.rooms, bench.now);
    assert_eq!(again.new, 0, "{again:?}");
}

#[test]
fn a_lane_that_is_alone_has_all_slots() {
    let mut bench = Bench::new(64);
    bench.add((1..=200).map(|id| row(id, "busy")));
    assert_eq!(bench.take(100).len(), 64);
}

#[test]
fn a_large_message_keeps_its_turn_and_what_fits_beside_it_may_go() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1000, headers: 100 });
    let of = |id, tenant, bytes| Header { bytes, ..row(id, tenant) };
    bench.add([
        of(1, "a", 300),
        of(2, "b", 300),
        of(3, "large", 700),
        of(4, "c", 200),
        of(5, "d", 200),
        of(6, "e", 200),
    ]);
    assert_eq!(bench.take(64), [1, 2, 4, 5], "of the 400 that were free");
    assert_eq!(bench.schedule.why_not(MessageId(3)), Some(WhyNot::Bytes));
    bench.finish([1]);
    assert!(bench.take(64).is_empty(), "those are kept");
    bench.finish([2]);
    assert!(bench.take(64).is_empty());
    bench.finish([4]);
    assert_eq!(bench.take(64), [3]);
    bench.finish([5]);
    assert_eq!(bench.take(64), [6]);
}

#[test]
fn a_message_larger_than_all_bytes_goes_where_no_other_is_in_flight() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1000, headers: 100 });
    let of = |id, tenant, bytes| Header { bytes, ..row(id, tenant) };
    bench.add([of(1, "a", 10), of(2, "large", 5000), of(3, "larger", 6000)]);
    assert_eq!(bench.take(64), [1]);
    bench.finish([1]);
    assert_eq!(bench.take(64), [2]);
    bench.finish([2]);
    assert_eq!(bench.take(64), [3]);
}

#[test]
fn a_message_that_is_larger_than_its_channel_allows_takes_no_bytes() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1000, headers: 100 });
    bench.add([Header { bytes: 2 << 20, ..row(1, "a") }, Header { bytes: 900, ..row(2, "b") }]);
    assert_eq!(bench.take(64), [1, 2]);
}

#[test]
fn destinations_in_slow_start_have_a_budget_while_others_want_slots() {
    let mut bench = Bench::new(64);
    bench.rooms.slow_start = (1..=40).map(|id| format!("s{id}")).collect();
    bench.add((1..=40).map(|id| row(id, &format!("s{id}"))).chain([row(100, "known")]));
    assert_eq!(bench.take(64).len(), 9, "eight of them");
    assert_eq!(bench.schedule.waiting().why[&WhyNot::SlowStart], 32);
}

#[test]
fn destinations_in_slow_start_have_a_third_of_their_slots_at_once_while_nobody_else_wants_them() {
    let mut bench = Bench::new(64);
    bench.rooms.slow_start = (1..=80).map(|id| format!("s{id}")).collect();
    bench.add((1..=80).map(|id| row(id, &format!("s{id}"))));
    assert_eq!(bench.take(64).len(), 18);
}

#[test]
fn silent_destinations_in_slow_start_keep_no_new_one_waiting_for_more_than_two_seconds() {
    const TIMEOUT: Duration = Duration::from_secs(10);
    // And a step of this clock.
    const LONGEST: Duration = Duration::from_millis(2_100);
    for (slots, others) in [(32, false), (256, false), (64, true)] {
        let mut bench = Bench::of(Capacity { slots, bytes: 1 << 30, headers: 20_000 });
        let silent = 1..=1_000_i64;
        bench.rooms.slow_start = (1..=1_200).map(|id| format!("s{id}")).collect();
        bench.add(silent.clone().map(|id| row(id, &format!("s{id}"))));
        let (mut began, mut waits) = (BTreeMap::<i64, Instant>::new(), BTreeMap::new());
        for tenth in 0..400 {
            if tenth % 30 == 0 {
                let new = 1_001 + tenth / 30;
                bench.look([row(new, &format!("s{new}"))], Shows::Newest);
                waits.insert(new, bench.now);
            }
            if others {
                bench.add([row(10_000 + tenth, "known")]);
            }
            let taken = bench.take(slots);
            bench.finish(taken.iter().copied().filter(|id| !silent.contains(id)));
            for id in taken {
                if let Some(since) = waits.remove(&id) {
                    let waited = bench.now - since;
                    assert!(waited <= LONGEST, "{waited:?} with {slots} slots, beside others: {others}");
                }
                began.insert(id, bench.now);
            }
            bench.now += Duration::from_millis(100);
            let over =
                |(id, since): (&i64, &Instant)| (silent.contains(id) && bench.now >= *since + TIMEOUT).then_some(*id);
            let over: Vec<_> = began.iter().filter_map(over).collect();
            began.retain(|id, _| !over.contains(id));
            bench.finish(over);
        }
        assert!(waits.values().all(|since: &Instant| bench.now - *since <= LONGEST), "{slots} slots: {waits:?}");
    }
}

#[test]
fn a_silent_destination_in_slow_start_gives_its_place_up_after_a_second_and_keeps_its_slot() {
    let mut bench = Bench::new(64);
    bench.rooms.slow_start = (1..=100).map(|id| format!("s{id}")).collect();
    bench.add((1..=100).map(|id| row(id, &format!("s{id}"))));
    let mut in_flight = Vec::new();
    for second in 0..6 {
        bench.add([row(1000 + second, "known")]);
        let batch = bench.take(64);
        in_flight.push(bench.schedule.waiting().slow_start_in_flight);
        bench.finish(batch.into_iter().filter(|id| *id >= 1000));
        bench.now += Duration::from_secs(1);
    }
    assert_eq!(in_flight, [8, 16, 21, 24, 26, 28], "ever fewer, and never a half of the slots");
}

#[test]
fn a_new_destination_in_slow_start_is_tried_before_most_of_those_that_wait() {
    let mut bench = Bench::new(64);
    bench.rooms.slow_start = (1..=1000).map(|id| format!("s{id}")).collect();
    bench.add([row(5000, "known")]);
    bench.add((1..1000).map(|id| row(id, &format!("s{id}"))));
    bench.take(64);
    bench.add([row(1000, "s1000")]);
    bench.now += Duration::from_secs(1);
    assert!(bench.take(64).contains(&1000));
}

#[test]
fn a_new_destination_in_slow_start_is_tried_before_those_that_failed_and_come_again() {
    let mut bench = Bench::new(64);
    bench.rooms.slow_start = (1..=1000).map(|id| format!("s{id}")).collect();
    let tried = (2..=1000).map(|id| Header { revision: Revision(1), ..row(id, &format!("s{id}")) });
    let (before, behind): (Vec<_>, Vec<_>) = tried.partition(|header| header.id.0 <= 500);
    bench.add([row(5000, "known")].into_iter().chain(before).chain([row(1, "s1")]).chain(behind));
    assert!(bench.take(64).contains(&1));
}

#[test]
fn a_destination_in_slow_start_that_answers_takes_turns_with_others_at_once() {
    let mut bench = Bench::new(64);
    bench.rooms.slow_start = (1..=40).map(|id| format!("s{id}")).chain(["good".to_owned()]).collect();
    bench.add((1..=10).map(|id| row(id, "good")).chain([row(99, "known")]));
    bench.add((101..=140).map(|id| row(id, &format!("s{}", id - 100))));
    let batch = bench.take(64);
    assert!(batch.contains(&1));
    bench.rooms.slow_start.remove("good");
    bench.finish([1]);
    assert_eq!(
        bench.take(64).iter().filter(|id| **id <= 10).count(),
        9 - batch.iter().filter(|id| (2..=10).contains(*id)).count()
    );
}

#[test]
fn destinations_in_slow_start_have_their_turns_however_many_others_wait() {
    let mut bench = Bench::new(64);
    bench.rooms.slow_start.insert("new".to_owned());
    bench.add((1..=500).map(|id| row(id, &format!("t{}", id % 20))).chain([row(1000, "new")]));
    assert!(bench.take(40).contains(&1000));
}

#[test]
fn destinations_in_slow_start_have_a_part_of_the_buffer_and_those_never_tried_a_larger_one() {
    let mut bench = Bench::of(Capacity { slots: 8, bytes: 1 << 20, headers: 160 });
    bench.rooms.slow_start = (1..=400).map(|id| format!("s{id}")).collect();
    let added = bench.add((1..=100).map(|id| row(id, &format!("s{id}"))));
    assert_eq!((added.new, added.passed_over), (40, 60));
    assert!(bench.schedule.take_skipped() && !bench.schedule.take_skipped());
    let untried: Vec<_> = (101..=200).map(|id| row(id, &format!("s{id}"))).collect();
    let tried = untried.iter().cloned().map(|header| Header { revision: Revision(1), ..header });
    assert_eq!(bench.look(tried, Shows::Newest).new, 10);
    assert_eq!(bench.look(untried, Shows::Newest).new, 30, "the rest of a half of the buffer");
    let step: Vec<Header> = (301..=310).map(|id| row(id, &format!("s{id}"))).collect();
    assert_eq!(bench.schedule.add_lanes(&step, 8, &mut bench.rooms, bench.now).new, 0);
    assert_eq!(bench.add((1000..1110).map(|id| row(id, "known"))).new, 16, "what one lane may have here");
}

#[test]
fn a_destination_in_slow_start_that_takes_nothing_is_left_in_the_database_until_it_opens() {
    let mut bench = Bench::new(64);
    let opens = bench.now + Duration::from_secs(7);
    bench.rooms.slow_start.insert("down".to_owned());
    bench.rooms.closed.insert("down".to_owned(), Some(opens));
    assert_eq!(bench.add([row(1, "down")]).passed_over, 1);
    bench.take(64);
    assert!(!bench.schedule.take_skipped());
    assert_eq!(bench.schedule.next_opening(), Some(opens));
    bench.now = opens;
    bench.take(64);
    assert!(bench.schedule.take_skipped());
}

#[test]
fn rows_for_closed_destinations_are_a_quarter_of_the_buffer_at_most() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1 << 20, headers: 160 });
    bench.rooms.closed = (1..=100).map(|id| (format!("d{id}"), None)).collect();
    bench.add((1..=100).map(|id| row(id, &format!("d{id}"))));
    bench.take(64);
    let waiting = bench.schedule.waiting();
    assert_eq!((waiting.of_closed, waiting.headers), (40, 40));
    bench.now += Duration::from_secs(1);
    bench.take(64);
    assert!(bench.schedule.take_skipped());
}

#[test]
fn what_does_not_fit_is_passed_over_and_asked_for_again() {
    let mut bench = Bench::of(Capacity { slots: 4, bytes: 1 << 20, headers: 100 });
    let added = bench.add((1..=50).map(|id| row(id, "a")));
    assert_eq!((added.new, added.passed_over), (8, 42));
    assert!(bench.schedule.has_more() && !bench.schedule.take_skipped());
    assert_eq!(bench.add([row(60, "a")]).passed_over, 1, "it is behind the place of its lane");
    let mut taken = bench.take(64);
    let (asked, limit) = bench.schedule.hungry(bench.now).expect("it runs low");
    assert_eq!((asked[0].behind, limit), (WalkStart::default(), 8));
    let page = (5..=12).map(|id| row(id, "a")).collect();
    bench.schedule.add_fed(&asked, limit, page, &mut bench.rooms, bench.now);
    bench.schedule.check();
    while !taken.is_empty() {
        bench.finish(taken);
        taken = bench.take(64);
    }
    let (asked, limit) = bench.schedule.hungry(bench.now).expect("it runs low");
    assert_eq!(asked[0].behind, WalkStart::behind(0, 12, 12));
    bench.schedule.add_fed(&asked, limit, vec![row(13, "a")], &mut bench.rooms, bench.now);
    assert!(!bench.schedule.has_more(), "fewer than asked for: there is no more");
    assert_eq!(bench.take(64), [13]);
}

#[test]
fn a_lane_that_is_fed_for_long_is_fed_from_the_beginning_now_and_then() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1 << 20, headers: 32 });
    bench.add((1..=20).map(|id| row(id, "a")));
    let (mut next, mut from_the_beginning) = (9, Vec::new());
    for second in 0..12 {
        let taken = bench.take(64);
        bench.finish(taken);
        let (asked, limit) = bench.schedule.hungry(bench.now).expect("it runs low");
        if second > 0 && asked[0].behind.is_beginning() {
            from_the_beginning.push(second);
        }
        let page = (next..next + 8).map(|id| row(id, "a")).collect();
        bench.schedule.add_fed(&asked, limit, page, &mut bench.rooms, bench.now);
        (next, bench.now) = (next + 8, bench.now + Duration::from_secs(1));
    }
    assert_eq!(from_the_beginning, [5, 10]);
}

#[test]
fn a_row_that_comes_while_its_lane_is_looked_at_is_not_forgotten() {
    let mut bench = Bench::of(Capacity { slots: 8, bytes: 1 << 20, headers: 32 });
    bench.add((1..=20).map(|id| row(id, "a")));
    bench.take(64);
    let (asked, limit) = bench.schedule.hungry(bench.now).expect("it runs low");
    bench.add([row(30, "a")]);
    bench.schedule.add_fed(&asked, limit, vec![], &mut bench.rooms, bench.now);
    assert!(bench.schedule.has_more(), "that look did not see it");
}

#[test]
fn rows_that_cannot_go_do_not_hide_others_of_their_lane() {
    let mut bench = Bench::new(512);
    bench.rooms.closed.insert("down".to_owned(), None);
    let met: Vec<Header> = (1..=8).map(|id| row_to(id, "a", "down")).collect();
    bench.schedule.add_lanes(&met, 8, &mut bench.rooms, bench.now);
    let all: Vec<Header> = (1..=5000).map(|id| row_to(id, "a", "down")).chain([row_to(6000, "a", "up")]).collect();
    for _ in 0..20 {
        if bench.take(512) == [6000] {
            assert!(bench.schedule.waiting().headers < 1500);
            return;
        }
        let Some((asked, limit)) = bench.schedule.hungry(bench.now) else { continue };
        bench.schedule.add_fed(&asked, limit, page_of(&all, &asked[0], limit), &mut bench.rooms, bench.now);
        bench.schedule.check();
    }
    panic!("it was not found");
}

fn page_of(rows: &[Header], look: &LaneLook, limit: u32) -> Vec<Header> {
    let behind = rows.iter().filter(|row| look.behind.is_before(row.priority.into(), row.at, row.id.0));
    behind.take(limit as usize).cloned().collect()
}

#[test]
fn a_repeat_is_dropped_and_a_later_revision_takes_the_place_of_an_earlier_one() {
    let mut bench = Bench::new(64);
    assert_eq!(bench.add([row(1, "a"), row(1, "a")]).new, 1);
    let edited = Header { revision: Revision(2), ..row_to(1, "a", "elsewhere") };
    assert_eq!(bench.add([edited.clone(), row(1, "a")]).new, 1);
    assert_eq!(bench.take_headers(64), [edited]);
    assert_eq!(bench.add([row(1, "a")]).new, 0, "it is in flight");
    assert!(!bench.schedule.take_skipped());
    bench.add([Header { revision: Revision(3), ..row(1, "a") }]);
    assert!(bench.schedule.take_skipped(), "it is found again once it is marked");
}

#[test]
fn rows_of_a_lane_that_finds_no_place_make_another_round_necessary() {
    let mut bench = Bench::of(Capacity { slots: 8, bytes: 1 << 20, headers: 16 });
    let added = bench.add((1..=20).map(|id| row(id, &format!("t{id}"))));
    assert_eq!((added.new, added.passed_over), (16, 4));
    assert!(bench.schedule.take_skipped() && !bench.schedule.take_skipped());
}

#[test]
fn a_row_that_is_held_goes_once_it_is_free() {
    let mut bench = Bench::new(64);
    bench.add([row(1, "a"), keyed(2, "a", "k"), keyed(3, "a", "k")]);
    bench.schedule.hold([1, 2, 4].map(MessageId));
    bench.add([row(4, "a"), row(5, "a")]);
    assert_eq!(bench.take(64), [5], "nothing of that key");
    assert_eq!(bench.schedule.why_not(MessageId(1)), Some(WhyNot::Held));
    bench.schedule.free([1, 2, 4].map(MessageId));
    assert_eq!(bench.take(64), [1, 2, 4]);
}

#[test]
fn what_was_claimed_unseen_is_in_flight_and_a_refused_row_is_found_again() {
    let mut bench = Bench::new(64);
    bench.schedule.add_claimed(vec![row(1, "a")], &mut bench.rooms, bench.now);
    assert_eq!(bench.add([row(1, "a")]).new, 0);
    assert_eq!(bench.schedule.in_flight(), 1);
    bench.schedule.refused(MessageId(1));
    assert_eq!((bench.add([row(1, "a")]).new, bench.schedule.in_flight()), (1, 0));
}

#[test]
fn a_new_term_begins_with_nothing_here_and_what_is_in_flight_stays() {
    let mut bench = Bench::new(64);
    bench.add([row(1, "a"), keyed(2, "a", "k"), keyed(3, "a", "k"), row(4, "a")]);
    bench.take(2);
    bench.schedule.clear();
    bench.schedule.check();
    let waiting = bench.schedule.waiting();
    assert_eq!((waiting.headers, waiting.in_flight), (0, 2));
    bench.add([row(1, "a"), keyed(2, "a", "k"), keyed(3, "a", "k")]);
    assert!(bench.take(64).is_empty());
    bench.finish([2]);
    assert_eq!(bench.take(64), [3]);
}

#[test]
fn rows_may_be_claimed_unseen_where_nothing_waits_but_what_the_look_passes_over() {
    let mut bench = Bench::of(Capacity { slots: 8, bytes: 1 << 20, headers: 32 });
    let unseen = bench.schedule.unseen(&mut bench.rooms, bench.now);
    assert_eq!((unseen.up_to, unseen.known.len(), unseen.not_of.len()), (2, 0, 0));
    bench.add((1..=20).map(|id| row(id, "a")));
    let unseen = bench.schedule.unseen(&mut bench.rooms, bench.now);
    assert_eq!((unseen.up_to, &*unseen.not_of[0].tenant), (2, "a"));
    bench.add([row(30, "b")]);
    assert_eq!(bench.schedule.unseen(&mut bench.rooms, bench.now).up_to, 0, "another has its turn first");
    bench.rooms.windows.insert("b".to_owned(), 0);
    bench.take(64);
    assert_eq!(bench.schedule.unseen(&mut bench.rooms, bench.now).up_to, 0);
}

#[test]
fn rows_of_a_channel_that_nobody_has_configured_are_told() {
    let mut bench = Bench::new(64);
    let mut unknown = row(1, "a");
    unknown.lane.channel = "unknown".into();
    assert_eq!(bench.add([unknown, row(2, "a")]).unknown_channel, [MessageId(1)]);
    assert_eq!(bench.take(64), [2]);
}

#[test]
fn a_channel_without_fairness_stays_so_in_a_new_term_in_which_something_is_in_flight() {
    let mut bench = Bench::new(64);
    bench.rooms.unfair = true;
    bench.add([row(1, "a")]);
    bench.take(1);
    bench.schedule.clear();
    bench.add([row(2, "a"), row(3, "a"), row(4, "b"), row(5, "a"), row(6, "b")]);
    assert_eq!(bench.take(64), [2, 3, 4, 5, 6]);
}

#[test]
fn the_fairness_of_a_channel_may_change_once_nothing_of_it_waits() {
    let mut bench = Bench::new(64);
    bench.add([row(1, "a")]);
    let taken = bench.take(1);
    bench.finish(taken);
    bench.rooms.unfair = true;
    bench.add((2..=7).map(|id| row(id, "a")).chain([row(1, "b")]));
    assert_eq!(bench.take(64), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_more_urgent_message_sends_its_lane_to_no_later_place() {
    let mut bench = Bench::new(64);
    bench.add((1..=30).map(|id| row(id, "a")).chain((31..=60).map(|id| row(id, "b"))));
    bench.take(8);
    bench.add([row(61, "c"), Header { priority: 1, ..row(62, "c") }]);
    assert_eq!(bench.take(2), [62, 61]);
}

#[test]
fn a_lane_of_which_a_message_is_taken_out_keeps_its_place() {
    let mut bench = Bench::new(64);
    bench.add([row(1, "a"), row(2, "a"), row(3, "b")]);
    bench.schedule.hold([MessageId(1)]);
    assert_eq!(bench.take(64), [2, 3]);
}

#[test]
fn a_claim_that_does_not_return_a_row_makes_room_at_its_destination_at_once() {
    let mut bench = Bench::new(64);
    bench.rooms.window = 1;
    bench.add([row(1, "a"), row(2, "a")]);
    assert_eq!(bench.take(64), [1]);
    bench.refuse(1);
    assert_eq!(bench.take(64), [2]);
}

#[test]
fn rows_left_in_the_database_for_a_closed_destination_are_looked_for_when_it_opens_or_all_may_have_changed() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1 << 20, headers: 160 });
    let opens = bench.now + Duration::from_hours(1);
    bench.rooms.closed = (1..=100).map(|id| (format!("d{id}"), Some(opens))).collect();
    bench.add((1..=100).map(|id| row(id, &format!("d{id}"))));
    for _ in 0..5 {
        bench.take(64);
        assert!(!bench.schedule.take_skipped(), "each round would find them as they are");
        bench.now += Duration::from_secs(1);
    }
    bench.schedule.destinations_changed();
    assert!(bench.schedule.take_skipped());
    bench.now = opens;
    bench.take(64);
    bench.add((1..=100).map(|id| row(id, &format!("d{id}"))));
}

#[test]
fn a_lane_that_is_to_be_fed_from_the_beginning_is_so_after_the_look_that_was_under_way() {
    let mut bench = Bench::new(512);
    bench.rooms.closed.insert("down".to_owned(), None);
    let all: Vec<Header> = (1..=400).map(|id| row_to(id, "a", "down")).collect();
    bench.schedule.add_lanes(&all[..8], 8, &mut bench.rooms, bench.now);
    bench.take(512);
    let (asked, _) = bench.schedule.hungry(bench.now).expect("it runs low");
    bench.schedule.add_fed(&asked, 256, page_of(&all, &asked[0], 256), &mut bench.rooms, bench.now);
    assert_eq!(bench.schedule.waiting().headers, 256, "the rest is left");
    let (asked, limit) = bench.schedule.hungry(bench.now).expect("it runs low");
    bench.rooms.closed.clear();
    bench.schedule.destination_changed("down");
    assert_eq!(bench.take(512).len(), 256);
    bench.schedule.add_fed(&asked, limit, vec![row_to(401, "a", "up")], &mut bench.rooms, bench.now);
    bench.take(512);
    let (asked, _) = bench.schedule.hungry(bench.now).expect("rows were left");
    assert!(asked[0].behind.is_beginning());
}

#[test]
fn a_row_of_a_key_that_was_edited_overtakes_none() {
    let mut bench = Bench::new(64);
    bench.heads([keyed(1, "a", "k"), keyed(2, "a", "k"), keyed(3, "a", "k")]);
    bench.heads([keyed(1, "a", "k"), Header { revision: Revision(1), ..keyed(2, "a", "k") }]);
    assert_eq!(bench.take(64), [1]);
    bench.finish([1]);
    assert_eq!(bench.take_headers(64)[0].revision, Revision(1));
    bench.finish([2]);
    assert_eq!(bench.take(64), [3]);
}

#[test]
fn a_row_that_finds_no_place_takes_those_behind_it_in_its_key_with_it() {
    let mut bench = Bench::of(Capacity { slots: 8, bytes: 1 << 20, headers: 16 });
    bench.heads([keyed(2, "a", "k"), keyed(3, "a", "k")]);
    bench.add((101..=114).map(|id| row(id, &format!("t{id}"))));
    bench.heads([keyed(1, "a", "k"), keyed(2, "a", "k")]);
    assert!(!bench.take(64).contains(&2));
}

#[test]
fn keyed_rows_of_one_destination_leave_places_for_others() {
    let mut bench = Bench::of(Capacity { slots: 8, bytes: 1 << 20, headers: 160 });
    bench.rooms.windows.insert("full".to_owned(), 0);
    bench.heads((1..=160).map(|id| keyed(id, "full", &format!("k{id}"))));
    bench.take(8);
    assert_eq!(bench.heads([keyed(1000, "other", "k")]).new, 1);
    assert_eq!(bench.add([row(1001, "b")]).new, 1);
}

#[test]
fn keyed_rows_find_a_place_however_many_slow_start_of_their_tenant_wait() {
    let mut bench = Bench::of(Capacity { slots: 8, bytes: 1 << 20, headers: 160 });
    bench.rooms.slow_start = (1..=80).map(|id| format!("s{id}")).collect();
    let step: Vec<_> = (1..=80).map(|id| row_to(id, "a", &format!("s{id}"))).collect();
    assert_eq!(bench.schedule.add_lanes(&step, 100, &mut bench.rooms, bench.now).new, 80);
    assert_eq!(bench.heads([keyed(100, "a", "k")]).new, 1);
}

#[test]
fn keyed_rows_of_many_lanes_leave_places_for_rows_without_a_key() {
    let mut bench = Bench::of(Capacity { slots: 8, bytes: 1 << 20, headers: 160 });
    bench.heads((1..=320).map(|id| keyed(id, &format!("t{id}"), &format!("k{id}"))));
    assert_eq!(bench.add([row(1001, "b")]).new, 1);
}

#[test]
fn a_large_message_of_a_destination_in_slow_start_goes_however_many_small_ones_do() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1600, headers: 100 });
    bench.rooms.slow_start = (1..=100).map(|id| format!("s{id}")).collect();
    let small = |id: i64| Header { bytes: 50, ..row(id, &format!("s{id}")) };
    bench.add([small(1)]);
    bench.take(64);
    bench.add([Header { bytes: 400, ..row(2, "s2") }]);
    assert!((3..20).any(|id| {
        bench.add([small(id)]);
        let taken = bench.take(64);
        bench.finish([id - if id == 3 { 2 } else { 1 }]);
        taken.contains(&2)
    }));
}

#[test]
fn a_destination_in_slow_start_that_waits_for_bytes_keeps_them_while_it_waits_for_its_place_in_the_budget() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1000, headers: 100 });
    bench.rooms.slow_start = ["s1", "s2"].map(str::to_owned).into();
    bench.rooms.budget = 1;
    let of = |id, tenant, bytes| Header { bytes, ..row(id, tenant) };
    bench.add([of(10, "a", 500), of(11, "b", 400)]);
    bench.take(64);
    bench.add([of(1, "s1", 600)]);
    assert!(bench.take(64).is_empty());
    assert_eq!(bench.schedule.why_not(MessageId(1)), Some(WhyNot::Bytes));
    // The only place is taken, and by then there are enough bytes.
    bench.schedule.add_claimed(vec![of(2, "s2", 1)], &mut bench.rooms, bench.now);
    bench.flying(2, "s2");
    bench.finish([10]);
    bench.add([of(12, "c", 450)]);
    assert!(bench.take(64).is_empty());
    bench.finish([11]);
    assert!(bench.take(64).is_empty(), "but for what is kept, 399 bytes are free");
    bench.add([of(13, "d", 300)]);
    assert_eq!(bench.take(64), [13]);
    bench.finish([2]);
    assert_eq!(bench.take(64), [1]);
}

#[test]
fn a_destination_in_slow_start_whose_message_is_too_large_for_now_holds_up_no_smaller_one() {
    let mut bench = Bench::of(Capacity { slots: 64, bytes: 1600, headers: 100 });
    bench.rooms.slow_start = (1..=4).map(|id| format!("s{id}")).collect();
    let of = |id, bytes| Header { bytes, ..row(id, &format!("s{id}")) };
    bench.add([of(1, 120)]);
    bench.take(64);
    bench.add([of(2, 150), of(3, 50), of(4, 150)]);
    assert_eq!(bench.take(64), [3]);
}

#[test]
fn a_row_that_is_found_amid_a_round_over_rows_in_flight_is_noted() {
    let mut bench = Bench::new(64);
    bench.add((1..=8).map(|id| row(id, "a")));
    let taken = bench.take(64);
    bench.schedule.clear();
    let step: Vec<Header> = taken.iter().map(|id| row(*id, "a")).collect();
    bench.schedule.add_lanes(&step, 8, &mut bench.rooms, bench.now);
    assert!(bench.schedule.has_more());
}

#[test]
fn slots_that_were_kept_for_others_are_taken_as_soon_as_nobody_else_wants_them() {
    let mut bench = Bench::new(64);
    bench.add((1..=200).map(|id| row(id, "busy")).chain([row(300, "quiet")]));
    let taken = bench.take(64);
    bench.finish(taken.into_iter().filter(|id| *id == 300));
    bench.take(64);
    bench.take(64);
    bench.now = bench.schedule.next_opening().expect("slots are kept");
    assert!(!bench.take(64).is_empty());
    assert_eq!(bench.schedule.next_opening(), None);
}

#[test]
fn destinations_in_slow_start_get_more_slots_as_soon_as_nobody_else_wants_them() {
    let mut bench = Bench::new(64);
    bench.rooms.slow_start = (1..=80).map(|id| format!("s{id}")).collect();
    bench.add([row(100, "known")]);
    bench.take(64);
    let began = bench.now;
    bench.now += Duration::from_millis(500);
    bench.add((1..=80).map(|id| row(id, &format!("s{id}"))));
    assert_eq!(bench.take(64).len(), 8);
    assert_eq!(bench.schedule.next_opening(), Some(began + Duration::from_secs(1)));
    bench.now = began + Duration::from_secs(1);
    assert!(bench.take(64).len() > 8);
}
