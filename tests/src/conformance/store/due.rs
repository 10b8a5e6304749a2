//! What looks at due rows show.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use outbox_store::store::due::{Header, Lane, LaneLook};
use outbox_store::{ChannelTerms, OnDeadOrdered, Revision, Shard, WalkStart};

use super::claiming::{claim, held};
use super::{Dialect, Outbox, http, ids};

pub(super) const SHARD: Shard = Shard(0);

pub(super) fn shown(headers: &[Header]) -> Vec<i64> {
    headers.iter().map(|header| header.id.0).collect()
}

/// Where a look goes on behind these.
pub(super) fn behind(from: WalkStart, headers: &[Header]) -> WalkStart {
    let place = |header: &Header| WalkStart::behind(i16::from(header.priority), header.at, header.id.0);
    headers.iter().fold(from, |start, header| place(header).or(start))
}

/// Writes so many messages.
pub(super) async fn write(outbox: &Outbox, rows: usize, columns: &[(&str, &str)]) -> Vec<i64> {
    let mut written = Vec::new();
    for _ in 0..rows {
        written.push(outbox.insert(columns).await.0);
    }
    written
}

/// A moment of the past, as SQL: one that the calendar knows exactly, so that rows tie.
fn long_ago(outbox: &Outbox) -> &'static str {
    match outbox.dialect {
        Dialect::Postgres | Dialect::MySql => "'2001-02-03 04:05:06.123456'",
        Dialect::Sqlite => "981173106123",
    }
}

/// The moment before all time, as SQL.
fn before_all_time(outbox: &Outbox) -> &'static str {
    match outbox.dialect {
        Dialect::Postgres => "'-infinity'",
        Dialect::MySql => "'0000-00-00'",
        Dialect::Sqlite => "-9e999",
    }
}

async fn look(outbox: &Outbox, from: WalkStart, limit: u32) -> Vec<Header> {
    outbox.due().look(SHARD, from, limit).await.unwrap()
}

/// All that is due and has no ordering key.
pub(super) async fn all_due(outbox: &Outbox) -> Vec<Header> {
    look(outbox, WalkStart::default(), 100).await
}

/// The first due rows of all ordering keys.
pub(super) async fn all_keys(outbox: &Outbox, each: u32, halting: &[String]) -> Vec<Header> {
    let step = outbox.due().next_keys(SHARD, None, 100, each, halting).await.unwrap();
    assert!(step.next.is_none());
    step.headers
}

/// Of what decides when a row goes, nothing else is asked.
pub async fn a_header_says_what_decides_about_its_row(outbox: &Outbox) {
    let at = long_ago(outbox);
    let large = format!("'\"{}\"'", "x".repeat(1_000));
    let plain = outbox.insert(&[("available_at", at), ("target", "'https://shop.example/x'")]).await;
    let named = outbox.insert(&[("priority", "2"), ("tenant", "'acme'"), ("revision", "7"), ("payload", &large)]).await;
    let headers = all_due(outbox).await;
    let [second, first] = &headers[..] else { panic!("{headers:?}") };
    let lane = |tenant: &str| Lane { channel: "http".into(), tenant: tenant.into() };
    assert_eq!((first.id, first.revision, first.priority), (plain, Revision(0), 0));
    let us = if outbox.dialect == Dialect::Sqlite { 981_173_106_123_000 } else { 981_173_106_123_456 };
    assert_eq!(first.at, us);
    assert_eq!(first.lane, lane("https://shop.example:443"));
    assert_eq!((&*first.destination, &first.key), ("https://shop.example:443", &None));
    assert!((20..200).contains(&first.bytes), "{first:?}");
    assert_eq!((second.id, second.revision, second.priority), (named, Revision(7), 2));
    assert_eq!((second.lane.clone(), &*second.destination), (lane("acme"), "http"));
    assert!((1_000..1_200).contains(&second.bytes), "{second:?}");

    let keyed = outbox.insert(&[("ordering_key", "'k'")]).await;
    let headers = all_keys(outbox, 1, &[]).await;
    assert_eq!((headers[0].id, headers[0].key.as_deref(), headers[0].lane.clone()), (keyed, Some("k"), lane("http")));
}

/// What ties goes by id; of each priority come as many as are asked for.
pub async fn a_look_shows_due_rows_by_priority_and_age(outbox: &Outbox) {
    let at = long_ago(outbox);
    let mut by_priority = BTreeMap::new();
    for priority in [0, 3, 1, 2] {
        let text = priority.to_string();
        let mut rows = write(outbox, 2, &[("priority", &text)]).await;
        rows.splice(0..0, write(outbox, 3, &[("priority", &text), ("available_at", at)]).await);
        by_priority.insert(priority, rows);
    }
    let expected =
        |limit: usize| by_priority.values().rev().flat_map(|rows| rows[..limit].to_vec()).collect::<Vec<_>>();
    assert_eq!(shown(&look(outbox, WalkStart::default(), 100).await), expected(5));
    assert_eq!(shown(&look(outbox, WalkStart::default(), 2).await), expected(2));
}

/// Delayed, done, dead, of another shard, with an ordering key, or never due at all.
pub async fn a_look_leaves_out_what_is_not_due_or_has_a_key(outbox: &Outbox) {
    let future = outbox.moment(60_000);
    outbox.insert(&[("available_at", &future)]).await;
    outbox.insert(&[("status", "'SUCCESS'")]).await;
    outbox.insert(&[("status", "'DEAD'"), ("dead_reason", "'permanent'")]).await;
    outbox.insert(&[("shard", "1")]).await;
    outbox.insert(&[("ordering_key", "'k'")]).await;
    if outbox.dialect == Dialect::Postgres {
        outbox.insert(&[("available_at", "'infinity'")]).await;
    }
    assert!(all_due(outbox).await.is_empty());
    assert!(outbox.due().newest(SHARD, 100).await.unwrap().is_empty());
    let step = outbox.due().next_lanes(SHARD, None, 100, 100).await.unwrap();
    assert!(step.headers.is_empty() && step.next.is_none(), "{step:?}");
    let lane = Lane { channel: "http".into(), tenant: "http".into() };
    let lane = LaneLook { lane, behind: WalkStart::default() };
    assert!(outbox.due().look_at_lanes(SHARD, &[lane], 100).await.unwrap().is_empty());
    assert_eq!(shown(&outbox.due().look(Shard(1), WalkStart::default(), 100).await.unwrap()).len(), 1);
}

/// Each look begins behind the last row of the one before: each row comes once, and none is passed over, whatever its time.
pub async fn looks_that_go_on_show_each_row_once(outbox: &Outbox) {
    let (early, at) = (before_all_time(outbox), long_ago(outbox));
    let mut written = Vec::new();
    for priority in ["0", "1"] {
        written.extend(write(outbox, 3, &[("priority", priority), ("available_at", early)]).await);
        written.extend(write(outbox, 3, &[("priority", priority), ("available_at", at)]).await);
        written.extend(write(outbox, 3, &[("priority", priority)]).await);
    }
    let (mut from, mut met) = (WalkStart::default(), Vec::new());
    loop {
        let headers = look(outbox, from, 2).await;
        if headers.is_empty() {
            break;
        }
        from = behind(from, &headers);
        met.extend(shown(&headers));
        assert!(met.len() <= written.len(), "{met:?}");
    }
    met.sort_unstable();
    assert_eq!(met, written);
}

/// Looks get past times that no moment of the calendar has, of which there may be any number.
pub async fn looks_get_past_times_that_are_no_moment(outbox: &Outbox) {
    let no_moments: &[&str] = match outbox.dialect {
        Dialect::Postgres => &["'-infinity'", "'0001-01-01 BC'"],
        Dialect::MySql => &["'0000-00-00'", "'0000-05-01'", "'2001-00-00'", "'2001-05-00 12:00:00'"],
        Dialect::Sqlite => &["-9e999", "-1e300", "-9e15", "981173106123.00001", "981173106123.5"],
    };
    let mut written = Vec::new();
    for time in no_moments {
        written.extend(write(outbox, 3, &[("available_at", time)]).await);
    }
    let last = outbox.insert(&[]).await;
    let (mut from, mut met) = (WalkStart::default(), BTreeSet::new());
    loop {
        let headers = look(outbox, from, 1).await;
        let Some(header) = headers.first() else { break };
        assert!(met.insert(header.id), "met twice: {header:?}");
        from = behind(from, &headers);
    }
    assert!(met.contains(&last), "{met:?}");
    assert_eq!(
        all_due(outbox).await.len(),
        written.len() + 1,
        "a look from the beginning finds what those passed over"
    );
}

/// Who writes now is found at once, whatever waits and whatever is tried again.
pub async fn the_newest_that_were_never_tried_are_shown_the_newest_first(outbox: &Outbox) {
    let (at, tried) = (long_ago(outbox), outbox.moment(-1_000));
    let old = write(outbox, 2, &[("available_at", at)]).await;
    let new = [outbox.insert(&[]).await.0, outbox.insert(&[("priority", "2")]).await.0, outbox.insert(&[]).await.0];
    write(outbox, 2, &[("first_attempt_at", &tried)]).await;
    let newest = async |limit| shown(&outbox.due().newest(SHARD, limit).await.unwrap());
    assert_eq!(newest(100).await, [new[2], new[1], new[0], old[1], old[0]]);
    assert_eq!(newest(2).await, [new[2], new[1]]);
}

/// Rows of these lanes alone, of each lane and priority as many as are asked for, each behind its own place.
pub async fn a_look_at_lanes_shows_what_each_of_them_has(outbox: &Outbox) {
    let mut rows = HashMap::new();
    for (tenant, target) in [("'acme'", "'https://a.example/'"), ("NULL", "'https://b.example/'"), ("'other'", "'/x'")]
    {
        for priority in ["0", "3"] {
            let columns = [("tenant", tenant), ("target", target), ("priority", priority)];
            rows.insert((tenant, priority), write(outbox, 3, &columns).await);
        }
    }
    let lane = |tenant: &str, behind| LaneLook { lane: Lane { channel: "http".into(), tenant: tenant.into() }, behind };
    let start = WalkStart::default();
    let lanes = [lane("https://b.example:443", start), lane("acme", start), lane("nobody", start)];
    let headers = outbox.due().look_at_lanes(SHARD, &lanes, 2).await.unwrap();
    let of = |tenant: &str| shown(&headers.iter().filter(|h| &*h.lane.tenant == tenant).cloned().collect::<Vec<_>>());
    assert_eq!(headers.len(), 8, "{headers:?}");
    assert_eq!(of("acme"), [&rows[&("'acme'", "3")][..2], &rows[&("'acme'", "0")][..2]].concat());
    assert_eq!(of("https://b.example:443"), [&rows[&("NULL", "3")][..2], &rows[&("NULL", "0")][..2]].concat());

    let of_acme: Vec<_> = headers.iter().filter(|header| &*header.lane.tenant == "acme").cloned().collect();
    let lanes = [lane("acme", behind(start, &of_acme))];
    let headers = outbox.due().look_at_lanes(SHARD, &lanes, 2).await.unwrap();
    assert_eq!(shown(&headers), [rows[&("'acme'", "3")][2], rows[&("'acme'", "0")][2]]);
    assert!(outbox.due().look_at_lanes(SHARD, &[], 2).await.unwrap().is_empty());
}

/// Numbers may stand for names: the first two channels share one on PostgreSQL, the others and the two tenants on MySQL.
pub async fn lanes_whose_names_share_a_number_are_told_apart(outbox: &Outbox) {
    let [one, nid, bub] = ["one", "nidmovh", "bubanxn"].map(|host| format!("https://{host}.example:443"));
    for pair in [
        [("partner-145", &one), ("partner-423", &one)],
        [("erp", &one), ("erp-40", &one)],
        [("http", &nid), ("http", &bub)],
    ] {
        outbox.execute("DELETE FROM outbox").await;
        let mut rows = Vec::new();
        for (channel, target) in pair {
            let (channel, target) = (format!("'{channel}'"), format!("'{target}/'"));
            rows.push(write(outbox, 3, &[("channel", &channel), ("target", &target)]).await);
        }
        let pair = pair.map(|(channel, tenant)| Lane { channel: channel.into(), tenant: tenant.as_str().into() });
        for (lane, rows) in pair.iter().zip(&rows) {
            let lanes = [LaneLook { lane: lane.clone(), behind: WalkStart::default() }];
            let headers = outbox.due().look_at_lanes(SHARD, &lanes, 2).await.unwrap();
            assert_eq!(shown(&headers), rows[..2], "{lane:?}");
            assert!(headers.iter().all(|header| header.lane == *lane), "{headers:?}");
        }
        let lanes = pair.map(|lane| LaneLook { lane, behind: WalkStart::default() });
        let both = outbox.due().look_at_lanes(SHARD, &lanes, 100).await.unwrap();
        assert_eq!(shown(&both), rows.concat());
        let ring = outbox.due().next_lanes(SHARD, None, 100, 100).await.unwrap();
        let met: BTreeSet<i64> = shown(&ring.headers).into_iter().collect();
        assert_eq!((met.len(), ring.headers.len()), (6, 6), "{ring:?}");
    }
}

/// However many lanes a step takes; what is not due is a step too.
pub async fn steps_along_the_lanes_meet_each_once_and_end(outbox: &Outbox) {
    let future = outbox.moment(60_000);
    let mut expected = Vec::new();
    for host in 0..7 {
        let target = format!("'https://host-{host}.example/'");
        for priority in ["1", "0"] {
            let rows = write(outbox, 3, &[("target", &target), ("priority", priority)]).await;
            expected.extend_from_slice(&rows[..2]);
        }
        write(outbox, 1, &[("target", &format!("'https://later-{host}.example/'")), ("available_at", &future)]).await;
    }
    // One whose hash is near the end of all numbers, one that begins with a space, and one beyond the first plane.
    for tenant in ["'tenant-44148'", "' a'", "'a\u{10ffff}'"] {
        expected.extend(write(outbox, 1, &[("tenant", tenant)]).await);
    }
    write(outbox, 1, &[("target", "'https://keyed.example/'"), ("ordering_key", "'k'")]).await;
    write(outbox, 1, &[("target", "'https://elsewhere.example/'"), ("shard", "1")]).await;
    expected.sort_unstable();
    for lanes in [1, 2, 7, 14, 100] {
        let (mut from, mut met, mut steps) = (None, Vec::new(), 0);
        loop {
            let step = outbox.due().next_lanes(SHARD, from.as_ref(), lanes, 2).await.unwrap();
            let mut of_lanes: BTreeMap<Lane, Vec<(u8, i64)>> = BTreeMap::new();
            for header in &step.headers {
                of_lanes.entry(header.lane.clone()).or_default().push((3 - header.priority, header.id.0));
            }
            assert!(of_lanes.len() <= lanes as usize, "{step:?}");
            assert!(of_lanes.values().all(|rows| rows.is_sorted()), "the order of each lane: {step:?}");
            met.extend(shown(&step.headers));
            steps += 1;
            from = step.next;
            if from.is_none() {
                break;
            }
            assert!(steps < 20, "the ring has an end");
        }
        met.sort_unstable();
        assert_eq!(met, expected, "{lanes} lanes a step");
    }
}

/// Its rows in the order of their ids, whatever their priority and age, up to the first that is not due.
pub async fn steps_along_the_ordering_keys_meet_each_once_and_end(outbox: &Outbox) {
    let future = outbox.moment(60_000);
    let mut expected = Vec::new();
    for key in ["a", "b", "c", "d", "e"] {
        let column = format!("'{key}'");
        let first = outbox.insert(&[("ordering_key", &column)]).await;
        let second = outbox.insert(&[("ordering_key", &column), ("priority", "3")]).await;
        outbox.insert(&[("ordering_key", &column)]).await;
        expected.push(vec![first.0, second.0]);
    }
    // The same key of another channel is another key.
    let elsewhere = write(outbox, 2, &[("ordering_key", "'a'"), ("channel", "'once'")]).await;
    expected.push(elsewhere);
    outbox.insert(&[("ordering_key", "'later'"), ("available_at", &future)]).await;
    outbox.insert(&[("ordering_key", "'later'")]).await;
    let begun = outbox.insert(&[("ordering_key", "'begun'")]).await;
    outbox.insert(&[("ordering_key", "'begun'"), ("available_at", &future)]).await;
    outbox.insert(&[("ordering_key", "'begun'")]).await;
    expected.push(vec![begun.0]);
    outbox.insert(&[("ordering_key", "'z'"), ("shard", "1")]).await;
    outbox.insert(&[]).await;
    expected.sort();
    for keys in [1, 2, 8, 100] {
        let (mut from, mut met, mut steps) = (None, Vec::new(), 0);
        loop {
            let step = outbox.due().next_keys(SHARD, from.as_ref(), keys, 2, &[]).await.unwrap();
            let mut of_keys: BTreeMap<_, Vec<i64>> = BTreeMap::new();
            for header in &step.headers {
                of_keys.entry((header.lane.channel.clone(), header.key.clone())).or_default().push(header.id.0);
            }
            assert!(of_keys.len() <= keys as usize, "{step:?}");
            met.extend(of_keys.into_values());
            steps += 1;
            from = step.next;
            if from.is_none() {
                break;
            }
            assert!(steps < 20, "the ring has an end");
        }
        met.sort();
        assert_eq!(met, expected, "{keys} keys a step");
    }
}

/// SQLite takes any bytes for a text.
pub async fn names_that_are_not_utf_8_keep_no_step_from_the_lanes_and_keys_behind_them(outbox: &Outbox) {
    let names = ["CAST(x'80' AS TEXT)", "CAST(x'8041' AS TEXT)", "CAST(x'ff' AS TEXT)", "char(65535)", "'a'"];
    let (mut of_lanes, mut of_keys) = (Vec::new(), Vec::new());
    for name in names {
        of_lanes.push(outbox.insert(&[("tenant", name)]).await.0);
        of_keys.push(outbox.insert(&[("ordering_key", name)]).await.0);
    }
    let (mut lane, mut lanes, mut key, mut keys) = (None, Vec::new(), None, Vec::new());
    for _step in 0..names.len() {
        let step = outbox.due().next_lanes(SHARD, lane.as_ref(), 1, 1).await.unwrap();
        lanes.extend(shown(&step.headers));
        lane = step.next;
        let step = outbox.due().next_keys(SHARD, key.as_ref(), 1, 1, &[]).await.unwrap();
        keys.extend(shown(&step.headers));
        key = step.next;
    }
    lanes.sort_unstable();
    keys.sort_unstable();
    assert_eq!((lanes, keys), (of_lanes, of_keys));
}

/// The channel `halting`.
fn halting() -> ChannelTerms {
    ChannelTerms { name: "halting".to_owned(), on_dead_ordered: OnDeadOrdered::Halt, ..http() }
}

/// Those behind it, in its channel, where that says so. One that somebody cancelled halts nothing.
pub async fn a_dead_letter_halts_those_behind_it_in_looks_and_claims(outbox: &Outbox) {
    let channels = [halting(), http()];
    let term = outbox.term(&channels).await;
    let halting = ["halting".to_owned()];
    let keyed = async |channel: &str, key: &str, more: &[(&str, &str)]| {
        let (channel, key) = (format!("'{channel}'"), format!("'{key}'"));
        outbox.insert(&[&[("channel", &*channel), ("ordering_key", &*key)][..], more].concat()).await.0
    };
    let dead = [("status", "'DEAD'"), ("dead_reason", "'permanent'")];
    let cancelled = [("status", "'DEAD'"), ("dead_reason", "'cancelled'")];
    let mut free = Vec::new();
    keyed("halting", "halted", &dead).await;
    let halted = keyed("halting", "halted", &[]).await;
    free.push(keyed("halting", "before", &[]).await);
    keyed("halting", "before", &dead).await;
    let behind = keyed("halting", "before", &[]).await;
    keyed("halting", "cancelled", &cancelled).await;
    free.push(keyed("halting", "cancelled", &[]).await);
    keyed("http", "halted", &dead).await;
    free.push(keyed("http", "halted", &[]).await);
    free.push(keyed("halting", "other", &[]).await);

    let headers = all_keys(outbox, 5, &halting).await;
    let mut met = shown(&headers);
    met.sort_unstable();
    assert_eq!(met, free);
    let unhalted = all_keys(outbox, 5, &[]).await;
    let mut all = [&free[..], &[halted, behind]].concat();
    all.sort_unstable();
    assert_eq!(unhalted.iter().map(|header| header.id.0).collect::<BTreeSet<_>>(), all.into_iter().collect());

    // A claim knows it too: a header may have been seen before the dead letter was one.
    let mut claimed = ids(&claim(outbox, &term, &channels, &unhalted).await);
    claimed.sort_unstable();
    assert_eq!(claimed, free);
    assert_eq!(held(outbox).await, free);
}
