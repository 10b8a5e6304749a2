//! The times of patterns: through changes of the clock, missed ones, and whatever else.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use jiff::Timestamp;
use outbox_schema::NewMessage;
use proptest::prelude::*;

use super::{Missed, RecurringConfig, Timetable};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn timetable(pattern: &str, zone: &str) -> Timetable {
    Timetable::parse(pattern, zone).unwrap_or_else(|why| panic!("{pattern} {zone}: {why}"))
}

/// The times from the first moment to the second one, the first left out.
fn times(pattern: &str, zone: &str, from: &str, to: &str) -> Vec<String> {
    let timetable = timetable(pattern, zone);
    let next = |time: &Timestamp| timetable.after(*time).filter(|next| *next <= at(to));
    std::iter::successors(next(&at(from)), next).map(|time| time.to_string()).collect()
}

#[test]
fn a_time_that_the_clocks_skip_comes_when_they_are_put_forward_and_one_that_comes_twice_comes_once() {
    for (zone, pattern, day, expected) in [
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-03-28",
            &["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"][..],
        ),
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-10-24",
            &["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        ),
        (
            "America/New_York",
            "0 2 * * *",
            "2026-03-07",
            &["2026-03-07T07:00:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"],
        ),
        (
            "America/New_York",
            "59 1 * * *",
            "2026-10-31",
            &["2026-10-31T05:59:00Z", "2026-11-01T05:59:00Z", "2026-11-02T06:59:00Z"],
        ),
        // Half an hour.
        (
            "Australia/Lord_Howe",
            "15 2 * * *",
            "2026-10-02",
            &["2026-10-02T15:45:00Z", "2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"],
        ),
        (
            "Australia/Lord_Howe",
            "45 1 * * *",
            "2026-04-03",
            &["2026-04-03T14:45:00Z", "2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"],
        ),
    ] {
        let from = format!("{day}T00:00:00Z");
        let found = times(pattern, zone, &from, "2026-12-31T00:00:00Z");
        assert_eq!(&found[..3], expected, "{pattern} {zone}");
    }
}

#[test]
fn several_times_that_the_clocks_skip_are_one() {
    let found = times("0,15,30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T02:00:00Z");
    assert_eq!(found, ["2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z", "2026-03-29T01:30:00Z"]);
}

#[test]
fn a_pattern_of_every_hour_goes_on_through_both_changes_of_the_clock() {
    for (zone, around) in [
        ("Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("Europe/Berlin", "2026-10-25T01:00:00Z"),
        ("America/New_York", "2026-03-08T07:00:00Z"),
        ("America/New_York", "2026-11-01T06:00:00Z"),
    ] {
        let (from, to) =
            (at(around) - jiff::SignedDuration::from_hours(3), at(around) + jiff::SignedDuration::from_hours(3));
        let found = times("0 * * * *", zone, &from.to_string(), &to.to_string());
        assert_eq!(found.len(), 6, "{zone} {found:?}");
    }
    let found = times("0 * * * *", "Australia/Lord_Howe", "2026-04-04T13:30:00Z", "2026-04-04T16:30:00Z");
    assert_eq!(found, ["2026-04-04T14:00:00Z", "2026-04-04T15:30:00Z", "2026-04-04T16:30:00Z"]);
    let seconds = times("* * * * * *", "Europe/Berlin", "2026-10-25T00:59:00Z", "2026-10-25T01:01:00Z");
    assert_eq!(seconds.len(), 120);
}

#[test]
fn a_pattern_has_five_or_six_fields_or_is_a_word_and_its_weekday_is_an_alternative_to_its_day() {
    assert_eq!(times("@daily", "UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), ["2026-01-02T00:00:00Z"]);
    assert_eq!(times("*/20 * * * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:00:59Z").len(), 2);
    let found = times("0 9 13 * FRI", "UTC", "2026-02-01T00:00:00Z", "2026-02-14T00:00:00Z");
    assert_eq!(found, ["2026-02-06T09:00:00Z", "2026-02-13T09:00:00Z"]);
}

#[test]
fn what_is_no_time_is_refused() {
    for (pattern, zone, why) in [
        ("0 0 30 2 *", "UTC", "never comes"),
        ("0 25 * * *", "UTC", "no pattern of cron"),
        ("* * *", "UTC", "no pattern of cron"),
        ("0 0 0 1 1 * 2030", "UTC", "no pattern of cron"),
        ("@sometimes", "UTC", "no pattern of cron"),
        ("@daily", "Europe/Atlantis", "no time zone"),
        ("@daily", "", "no time zone"),
    ] {
        let refused = Timetable::parse(pattern, zone).map(|_| ()).unwrap_err();
        assert!(refused.contains(why), "{pattern:?} {zone:?}: {refused}");
    }
}

fn recurring(pattern: &str, missed: Missed) -> RecurringConfig {
    let message = NewMessage::new("http", "/", "{}");
    RecurringConfig { name: "todo".to_owned(), timetable: timetable(pattern, "UTC"), missed, message }
}

#[test]
fn times_that_were_missed_give_none_or_one_or_all_up_to_a_hundred() {
    let (done, now) = (at("2026-01-01T00:00:00Z"), at("2026-03-01T12:00:00Z"));
    let due = |missed| recurring("@hourly", missed).due(done, now);
    assert_eq!(due(Missed::One), [now]);
    assert_eq!(due(Missed::Skip), [now]);
    let all = due(Missed::All);
    assert_eq!((all.len(), all[99]), (100, now));
    assert!(all.is_sorted());
    let late = now + jiff::SignedDuration::from_mins(2);
    assert_eq!(recurring("@hourly", Missed::Skip).due(done, late), []);
    assert_eq!(recurring("@hourly", Missed::One).due(done, late), [now]);
    assert_eq!(recurring("@hourly", Missed::All).due(now, late), []);
}

#[test]
fn the_key_of_a_message_is_made_from_its_name_and_its_time() {
    let recurring = recurring("@hourly", Missed::One);
    let key = |message: &NewMessage| message.content().unwrap().idempotency_key.unwrap().to_owned();
    let time = at("2026-03-01T12:00:00Z");
    assert_eq!(key(&recurring.message_of(time)), "recurring:todo:2026-03-01T12:00:00Z");
    assert_eq!(key(&recurring.message_by_hand(time)), "recurring:todo:by-hand:2026-03-01T12:00:00Z");
}

fn some_pattern() -> impl Strategy<Value = String> {
    let minute =
        prop_oneof![Just("*".to_owned()), (0..60u8).prop_map(|minute| minute.to_string()), Just("*/7".to_owned())];
    let hour = prop_oneof![Just("*".to_owned()), (0..24u8).prop_map(|hour| hour.to_string()), Just("1-3".to_owned())];
    let day = prop_oneof![Just("*".to_owned()), (1..=31u8).prop_map(|day| day.to_string())];
    (minute, hour, day).prop_map(|(minute, hour, day)| format!("{minute} {hour} {day} * *"))
}

fn some_zone() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("UTC"),
        Just("Europe/Berlin"),
        Just("America/New_York"),
        Just("Australia/Lord_Howe"),
        Just("Africa/Casablanca")
    ]
}

proptest! {
    #[test]
    fn times_only_rise_and_none_lies_between_two(pattern in some_pattern(), zone in some_zone(), from in 0..2_000_000_000_i64, ahead in 1..100_000_i64) {
        let timetable = timetable(&pattern, zone);
        let from = Timestamp::from_second(from).unwrap();
        let next = timetable.after(from).unwrap();
        prop_assert!(next > from);
        prop_assert_eq!(next.subsec_nanosecond(), 0);
        // From any moment before it, it is the next one.
        let between = Timestamp::from_second((next.as_second() - ahead).max(from.as_second())).unwrap();
        prop_assert_eq!(timetable.after(between), Some(next));
    }

    #[test]
    fn the_last_times_are_the_end_of_all_of_them(pattern in some_pattern(), zone in some_zone(), from in 0..2_000_000_000_i64, span in 0..500_000_i64, most in 1..9_usize) {
        let timetable = timetable(&pattern, zone);
        let (from, until) = (Timestamp::from_second(from).unwrap(), Timestamp::from_second(from + span).unwrap());
        let next = |time: &Timestamp| timetable.after(*time).filter(|next| *next <= until);
        let all: Vec<_> = std::iter::successors(next(&from), next).collect();
        prop_assert_eq!(timetable.last(most, from, until), &all[all.len().saturating_sub(most)..]);
    }
}
