//! What looks at due rows show, and what is claimed by the ids that they showed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use outbox_schema::store::due::{ClaimTerms, Header, Lane, LaneLook, LookAndClaim, RowsToClaim};
use outbox_schema::{
    ChannelTerms, ClaimId, DeadReason, Message, MessageId, OnDeadOrdered, Revision, Shard, StoreError, TermId, Verdict,
    WalkStart,
};
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, PgConnection, raw_sql};

use super::{Dialect, Outbox, delivered, http, ids, mark, once};

const SHARD: Shard = Shard(0);

/// What a claim keeps of these channels: their rows settle after ten minutes.
pub fn terms(channels: &[ChannelTerms]) -> ClaimTerms<'_> {
    ClaimTerms {
        channels,
        timeout: Duration::from_secs(1),
        lease_ttl: Duration::from_mins(5),
        margin: Duration::from_mins(5),
    }
}

fn shown(headers: &[Header]) -> Vec<i64> {
    headers.iter().map(|header| header.id.0).collect()
}

fn seen(headers: &[Header]) -> Vec<(MessageId, Revision)> {
    headers.iter().map(|header| (header.id, header.revision)).collect()
}

/// Where a look goes on behind these.
fn behind(from: WalkStart, headers: &[Header]) -> WalkStart {
    let place = |header: &Header| WalkStart::behind(i16::from(header.priority), header.at, header.id.0);
    headers.iter().fold(from, |start, header| place(header).or(start))
}

/// Writes so many messages.
async fn write(outbox: &Outbox, rows: usize, columns: &[(&str, &str)]) -> Vec<i64> {
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
async fn all_due(outbox: &Outbox) -> Vec<Header> {
    look(outbox, WalkStart::default(), 100).await
}

/// The first due rows of all ordering keys.
async fn all_keys(outbox: &Outbox, each: u32, halting: &[String]) -> Vec<Header> {
    let step = outbox.due().next_keys(SHARD, None, 100, each, halting).await.unwrap();
    assert!(step.next.is_none());
    step.headers
}

async fn claim(outbox: &Outbox, term: &TermId, channels: &[ChannelTerms], headers: &[Header]) -> Vec<Message> {
    let rows = seen(headers);
    let request = RowsToClaim { claim: ClaimId::mint(), rows: &rows, terms: &terms(channels) };
    outbox.due().claim_rows(term, &request).await.unwrap()
}

/// The rows that the claims hold, in order.
async fn held(outbox: &Outbox) -> Vec<i64> {
    let mut held = Vec::new();
    for row in outbox.strings(&["message_ids"], "outbox_claim").await {
        let numbers = row[0].as_deref().unwrap_or_default().trim_matches(|c| "{[]}".contains(c)).to_owned();
        held.extend(numbers.split(',').filter(|id| !id.is_empty()).map(|id| id.trim().parse::<i64>().unwrap()));
    }
    held.sort_unstable();
    held
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

/// Numbers may stand for the names of channels: the first two share one on PostgreSQL, the others on MySQL.
pub async fn lanes_whose_names_share_a_number_are_told_apart(outbox: &Outbox) {
    for pair in [["partner-145", "partner-423"], ["erp", "erp-40"]] {
        outbox.execute("DELETE FROM outbox").await;
        let mut rows = Vec::new();
        for channel in pair {
            let channel = format!("'{channel}'");
            rows.push(write(outbox, 3, &[("channel", &channel), ("target", "'https://one.example/'")]).await);
        }
        let lane = |channel: &str| Lane { channel: channel.into(), tenant: "https://one.example:443".into() };
        for (channel, rows) in pair.into_iter().zip(&rows) {
            let lanes = [LaneLook { lane: lane(channel), behind: WalkStart::default() }];
            let headers = outbox.due().look_at_lanes(SHARD, &lanes, 2).await.unwrap();
            assert_eq!(shown(&headers), rows[..2], "{channel}");
            assert!(headers.iter().all(|header| header.lane == lane(channel)), "{headers:?}");
        }
        let lanes = pair.map(|channel| LaneLook { lane: lane(channel), behind: WalkStart::default() });
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

/// In the order in which they are asked for, with what their application wrote; and the claim holds these rows.
pub async fn rows_are_claimed_by_what_a_look_showed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let payload = ("payload", "'{\"text\": \"grüße 😀\"}'");
    outbox.insert(&[payload, ("headers", "'{\"x-a\": \"b\"}'"), ("tenant", "'acme'"), ("revision", "3")]).await;
    write(outbox, 2, &[]).await;
    let keyed = outbox.insert(&[("ordering_key", "'k'")]).await;
    let mut headers = [all_due(outbox).await, all_keys(outbox, 1, &[]).await].concat();
    headers.reverse();
    let rows = seen(&headers);
    let request = RowsToClaim { claim: ClaimId::mint(), rows: &rows, terms: &terms(&channels) };
    let claimed = outbox.due().claim_rows(&term, &request).await.unwrap();
    assert_eq!(ids(&claimed), shown(&headers));
    assert_eq!((claimed[0].id(), claimed[0].ordering_key.as_deref()), (keyed, Some("k")));
    let [.., last] = &claimed[..] else { panic!("{claimed:?}") };
    assert_eq!((last.revision().0, last.tenant.as_deref()), (3, Some("acme")));
    assert_eq!(last.payload, "{\"text\": \"grüße 😀\"}");
    assert_eq!(last.headers.as_deref(), Some("{\"x-a\": \"b\"}"));
    assert_eq!(held(outbox).await.len(), 4);

    // Marks and the end of the claim are as of any other.
    let marks: Vec<_> = claimed.iter().map(|message| delivered(&term, request.claim, message)).collect();
    assert!(outbox.store.mark(&marks, &[request.claim]).await.unwrap().fenced.is_empty());
    assert_eq!(outbox.count("outbox WHERE status = 'SUCCESS'").await, 4);
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// What was decided about since, what is not due any more, and what is not waiting: the claim holds none of it.
pub async fn rows_that_are_not_as_they_were_seen_are_not_claimed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let names = ["stays", "decided", "deferred", "done", "dead", "gone", "strange"];
    let mut of = HashMap::new();
    for name in names {
        let channel = if name == "strange" { "'nobody'" } else { "'http'" };
        of.insert(name, outbox.insert(&[("channel", channel), ("revision", "1")]).await);
    }
    let elsewhere = outbox.insert(&[("shard", "1")]).await;
    let mut headers = all_due(outbox).await;
    assert_eq!(headers.len(), names.len());
    headers.extend(outbox.due().look(Shard(1), WalkStart::default(), 100).await.unwrap());
    assert_eq!(headers.last().map(|header| header.id), Some(elsewhere));
    let change =
        async |name: &str, to: &str| outbox.execute(&format!("UPDATE outbox SET {to} WHERE id = {}", of[name])).await;
    change("decided", "revision = revision + 1").await;
    change("deferred", &format!("available_at = {}", outbox.moment(60_000))).await;
    change("done", "status = 'SUCCESS'").await;
    change("dead", "status = 'DEAD', dead_reason = 'permanent'").await;
    outbox.execute(&format!("DELETE FROM outbox WHERE id = {}", of["gone"])).await;
    assert_eq!(ids(&claim(outbox, &term, &channels, &headers).await), [of["stays"].0]);
    assert_eq!(held(outbox).await, [of["stays"].0]);
}

/// On MySQL an open cancellation has locked its message. Claims pass that over, and wait for nobody.
pub async fn a_row_that_somebody_has_locked_is_left_and_the_others_are_claimed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let rows = write(outbox, 3, &[]).await;
    let headers = all_due(outbox).await;
    let mut application = MySqlConnection::connect(outbox.url()).await.unwrap();
    // As the procedure does, which is made by a script of its own.
    let lock = format!(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN; \
         SELECT shard FROM outbox_cancelling LOCK IN SHARE MODE; SELECT id FROM outbox WHERE id = {} FOR UPDATE",
        rows[1]
    );
    raw_sql(AssertSqlSafe(lock)).execute(&mut application).await.unwrap();
    let promptly = Duration::from_secs(3);
    let claimed = tokio::time::timeout(promptly, claim(outbox, &term, &channels, &headers)).await.unwrap();
    assert_eq!(ids(&claimed), [rows[0], rows[2]]);
    assert_eq!(held(outbox).await, [rows[0], rows[2]]);
    raw_sql("ROLLBACK").execute(&mut application).await.unwrap();
    assert_eq!(ids(&claim(outbox, &term, &channels, &headers[1..2]).await), [rows[1]]);
}

/// Nothing was sent under it, and nothing has to be settled.
pub async fn a_claim_that_gets_no_row_leaves_nothing(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 2, &[]).await;
    let headers = all_due(outbox).await;
    outbox.execute("UPDATE outbox SET revision = revision + 1").await;
    assert!(claim(outbox, &term, &channels, &headers).await.is_empty());
    assert!(claim(outbox, &term, &channels, &[]).await.is_empty());
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// Whatever was seen of it: the one that waits with the lowest id, due or not. Keys are of their channel, and compared byte for
/// byte.
pub async fn of_an_ordering_key_only_the_first_is_claimed(outbox: &Outbox) {
    let channels = [http(), once()];
    let term = outbox.term(&channels).await;
    let first = outbox.insert(&[("ordering_key", "'a'"), ("revision", "1")]).await;
    let second = outbox.insert(&[("ordering_key", "'a'"), ("priority", "3")]).await;
    let capital = outbox.insert(&[("ordering_key", "'A'")]).await;
    let elsewhere = outbox.insert(&[("ordering_key", "'a'"), ("channel", "'once'")]).await;
    let headers = all_keys(outbox, 5, &[]).await;
    assert_eq!(headers.len(), 4);
    let mut claimed = ids(&claim(outbox, &term, &channels, &headers).await);
    claimed.sort_unstable();
    assert_eq!(claimed, [first.0, capital.0, elsewhere.0]);
    // It is hidden by one that came back, and is not due yet.
    let only = |id: MessageId| headers.iter().filter(|header| header.id == id).cloned().collect::<Vec<_>>();
    outbox.execute(&format!("UPDATE outbox SET available_at = {} WHERE id = {first}", outbox.moment(60_000))).await;
    assert!(claim(outbox, &term, &channels, &only(second)).await.is_empty());
    outbox.execute(&format!("UPDATE outbox SET status = 'SUCCESS', revision = 1 WHERE id = {first}")).await;
    assert_eq!(ids(&claim(outbox, &term, &channels, &only(second)).await), [second.0]);
}

/// Its COMMIT may go unanswered; the answer to the repetition is the answer to the first, whatever it asks for.
pub async fn a_claim_of_rows_repeated_under_its_id_is_made_once(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 3, &[]).await;
    let rows = seen(&all_due(outbox).await);
    let due = outbox.due();
    let terms = terms(&channels);
    let request = RowsToClaim { claim: ClaimId::mint(), rows: &rows[..2], terms: &terms };
    let first = due.claim_rows(&term, &request).await.unwrap();
    assert_eq!(ids(&due.claim_rows(&term, &request).await.unwrap()), ids(&first));
    let more = RowsToClaim { rows: &rows, ..request.clone() };
    assert_eq!(ids(&due.claim_rows(&term, &more).await.unwrap()), ids(&first));
    assert_eq!(outbox.count("outbox_claim").await, 1);

    // A row that was marked meanwhile may not be sent again under it.
    outbox.store.mark(&[delivered(&term, request.claim, &first[0])], &[]).await.unwrap();
    assert_eq!(ids(&due.claim_rows(&term, &request).await.unwrap()), ids(&first[1..]));

    // Nothing is claimed any more under the id of a claim that was given up.
    let given_up = RowsToClaim { claim: ClaimId::mint(), rows: &rows[2..], terms: &terms };
    outbox.store.release(SHARD, given_up.claim).await.unwrap();
    assert!(due.claim_rows(&term, &given_up).await.unwrap().is_empty());
}

/// Also where nothing of it could be claimed.
pub async fn a_claim_of_rows_needs_the_present_term(outbox: &Outbox) {
    let channels = [http()];
    let earlier = outbox.term(&channels).await;
    write(outbox, 1, &[]).await;
    let rows = seen(&all_due(outbox).await);
    let term = outbox.term(&channels).await;
    let terms = terms(&channels);
    let impostor = TermId { holder: earlier.holder.clone(), ..term.clone() };
    for over in [&earlier, &impostor] {
        for rows in [&rows[..], &[(MessageId(1 << 40), Revision(0))], &[]] {
            let request = RowsToClaim { claim: ClaimId::mint(), rows, terms: &terms };
            let refused = outbox.due().claim_rows(over, &request).await;
            assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
        }
        for up_to in [0, 10] {
            let refused = outbox.due().look_and_claim(over, &LookAndClaim { up_to, ..idle(&terms) }).await;
            assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
        }
        let refused = outbox.due().defer_unknown(over, &[rows[0].0], &[], Duration::from_mins(1)).await;
        assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    }
    assert_eq!(outbox.count("outbox_claim").await, 0);
    outbox.execute("DELETE FROM outbox").await;
    let refused = outbox.due().look_and_claim(&earlier, &idle(&terms)).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
}

/// Payload and headers stay in the database; its place in the claim is as of any other.
pub async fn a_row_that_is_too_large_for_its_channel_is_claimed_unread(outbox: &Outbox) {
    let channels = [ChannelTerms { max_message_bytes: 200, ..http() }];
    let term = outbox.term(&channels).await;
    let large = format!("'\"{}\"'", "x".repeat(300));
    outbox.insert(&[("payload", &large)]).await;
    outbox.insert(&[]).await;
    let headers = all_due(outbox).await;
    let claimed = claim(outbox, &term, &channels, &headers).await;
    assert_eq!(ids(&claimed), shown(&headers));
    assert!(claimed[0].too_large && claimed[0].bytes > 300 && claimed[0].payload.is_empty());
    assert!(!claimed[1].too_large && claimed[1].payload == "{}");
}

/// As those of any other claim: after their settling time, by the policy of their channel.
pub async fn what_a_claim_of_rows_left_in_doubt_is_settled(outbox: &Outbox) {
    let channels = [http(), once()];
    let earlier = outbox.term(&channels).await;
    let resent = outbox.insert(&[]).await;
    let dead = outbox.insert(&[("channel", "'once'")]).await;
    outbox.insert(&[]).await;
    let headers: Vec<_> = all_due(outbox).await.into_iter().take(2).collect();
    assert_eq!(claim(outbox, &earlier, &channels, &headers).await.len(), 2);
    let term = outbox.term(&channels).await;
    let waits = outbox.store.settle(&term, &channels, &[]).await.unwrap();
    assert_eq!((waits.decided.len(), waits.unsettled.len()), (0, 2));
    let next = waits.next.unwrap();
    assert!(next > Duration::from_mins(9) && next <= Duration::from_secs(601), "{next:?}");
    outbox.age_claims(Duration::from_hours(1)).await;
    let settled = outbox.store.settle(&term, &channels, &[]).await.unwrap().decided;
    let again = |id: MessageId| settled.iter().find(|row| row.id == id).map(|row| row.resend);
    assert_eq!((settled.len(), again(resent), again(dead)), (2, Some(true), Some(false)));
}

/// Rows that are there twice in what is asked for are claimed once.
pub async fn a_row_that_is_asked_for_twice_is_claimed_once(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 2, &[]).await;
    let headers = all_due(outbox).await;
    let twice = [headers.clone(), headers.clone()].concat();
    assert_eq!(ids(&claim(outbox, &term, &channels, &twice).await), shown(&headers));
    assert_eq!(held(outbox).await, shown(&headers));
}

/// A look of an idle poller: it claims up to ten.
fn idle<'a>(terms: &'a ClaimTerms<'a>) -> LookAndClaim<'a> {
    LookAndClaim {
        claim: ClaimId::mint(),
        behind: WalkStart::default(),
        limit: 100,
        known: &[],
        not_of: &[],
        up_to: 10,
        terms,
    }
}

/// And where more is due, nothing.
pub async fn a_look_claims_at_once_what_is_little(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let terms = terms(&channels);
    let nothing = outbox.due().look_and_claim(&term, &idle(&terms)).await.unwrap();
    assert!(nothing.headers.is_empty() && nothing.messages.is_empty());
    assert_eq!(outbox.count("outbox_claim").await, 0);

    let late = write(outbox, 2, &[("payload", "'{\"a\": 1}'")]).await;
    let urgent = write(outbox, 1, &[("priority", "3")]).await;
    let expected = [urgent, late].concat();
    let ask = LookAndClaim { up_to: 2, ..idle(&terms) };
    let looked = outbox.due().look_and_claim(&term, &ask).await.unwrap();
    assert_eq!((shown(&looked.headers), looked.messages.len()), (expected.clone(), 0));
    assert_eq!(looked.headers, all_due(outbox).await);
    assert_eq!(outbox.count("outbox_claim").await, 0);

    let ask = LookAndClaim { up_to: 3, ..idle(&terms) };
    let looked = outbox.due().look_and_claim(&term, &ask).await.unwrap();
    assert_eq!((shown(&looked.headers), ids(&looked.messages)), (expected.clone(), expected.clone()));
    assert_eq!(looked.headers, all_due(outbox).await);
    assert_eq!(looked.messages[2].payload, "{\"a\": 1}");
    assert_eq!(held(outbox).await, {
        let mut all = expected.clone();
        all.sort_unstable();
        all
    });

    // A repeat under its id is told the same, also where more is due by now.
    write(outbox, 20, &[]).await;
    let again = outbox.due().look_and_claim(&term, &ask).await.unwrap();
    assert_eq!((shown(&again.headers), ids(&again.messages)), (expected.clone(), expected));
    assert_eq!(outbox.count("outbox_claim").await, 1);
    let marks: Vec<_> = again.messages.iter().map(|message| delivered(&term, ask.claim, message)).collect();
    assert!(outbox.store.mark(&marks, &[ask.claim]).await.unwrap().fenced.is_empty());
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// What is in flight, and what is of lanes with a backlog, is neither shown nor counted; nor is what comes before its place.
pub async fn a_look_that_claims_passes_over_what_is_known(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let terms = terms(&channels);
    let known = write(outbox, 12, &[]).await;
    write(outbox, 12, &[("tenant", "'busy'")]).await;
    let passed = all_due(outbox).await;
    let quiet = write(outbox, 2, &[("tenant", "'quiet'")]).await;
    let urgent = write(outbox, 1, &[("priority", "1"), ("tenant", "'quiet'")]).await;
    // The tenant of that name in another channel is another lane.
    let elsewhere = write(outbox, 1, &[("tenant", "'busy'"), ("channel", "'once'")]).await;
    let ids_known: Vec<_> = known.iter().map(|id| MessageId(*id)).collect();
    let not_of = [Lane { channel: "http".into(), tenant: "busy".into() }];
    let ask = LookAndClaim { known: &ids_known, not_of: &not_of, up_to: 0, ..idle(&terms) };
    let expected = [urgent, quiet, elsewhere].concat();
    assert_eq!(shown(&outbox.due().look_and_claim(&term, &ask).await.unwrap().headers), expected);
    let ask = LookAndClaim { behind: behind(WalkStart::default(), &passed), up_to: 0, ..idle(&terms) };
    assert_eq!(shown(&outbox.due().look_and_claim(&term, &ask).await.unwrap().headers), expected);
    assert_eq!(outbox.count("outbox_claim").await, 0);
    let limited = LookAndClaim { limit: 1, ..ask };
    let looked = outbox.due().look_and_claim(&term, &limited).await.unwrap();
    assert_eq!(shown(&looked.headers), expected[..2]);
}

/// It is shown, so that it is deferred.
pub async fn a_look_claims_nothing_of_an_unknown_channel(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let terms = terms(&channels);
    let strange = outbox.insert(&[("channel", "'nobody'")]).await;
    let known = outbox.insert(&[]).await;
    let looked = outbox.due().look_and_claim(&term, &idle(&terms)).await.unwrap();
    assert_eq!((shown(&looked.headers), ids(&looked.messages)), (vec![strange.0, known.0], vec![known.0]));
    assert_eq!(held(outbox).await, [known.0]);

    let keyed = outbox.insert(&[("channel", "'nobody'"), ("ordering_key", "'k'")]).await;
    let delay = Duration::from_mins(1);
    let deferred = outbox.due().defer_unknown(&term, &[strange, keyed], &channels, delay).await.unwrap();
    assert_eq!(deferred, BTreeMap::from([("nobody".to_owned(), 2)]));
    assert_eq!(shown(&all_due(outbox).await), [known.0]);
    for id in [strange, keyed] {
        let row = outbox.message(id).await;
        assert!((50_000..=60_000).contains(&row.available_in) && row.revision == 0, "{row:?}");
    }
}

/// Two tries of one claim at the same moment: one is made, and nobody is told that it cannot be.
pub async fn tries_of_one_claim_of_rows_that_overlap_make_it_once(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 2, &[]).await;
    let rows = seen(&all_due(outbox).await);
    let terms = terms(&channels);
    let request = RowsToClaim { claim: ClaimId::mint(), rows: &rows, terms: &terms };
    let attempt = async || loop {
        match outbox.due().claim_rows(&term, &request).await {
            Ok(claimed) => return ids(&claimed),
            Err(StoreError::Unavailable { .. }) if outbox.dialect != Dialect::Sqlite => {}
            Err(error) => panic!("{error}"),
        }
    };
    let (one, other, third) = tokio::join!(attempt(), attempt(), attempt());
    assert!(one.len() == 2 && one == other && other == third, "{one:?} {other:?} {third:?}");
    assert_eq!(outbox.count("outbox_claim").await, 1);
}

/// What comes back is seen and claimed at its new revision.
pub async fn a_row_that_comes_back_is_claimed_at_its_new_revision(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 2, &[]).await;
    let headers = all_due(outbox).await;
    let rows = seen(&headers);
    let request = RowsToClaim { claim: ClaimId::mint(), rows: &rows, terms: &terms(&channels) };
    let claimed = outbox.due().claim_rows(&term, &request).await.unwrap();
    let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
    let verdicts = [Verdict::Retry { after: Duration::ZERO }, dead];
    let marks: Vec<_> =
        claimed.iter().zip(verdicts).map(|(row, verdict)| mark(&term, request.claim, row, verdict, "a test")).collect();
    outbox.store.mark(&marks, &[request.claim]).await.unwrap();
    assert!(claim(outbox, &term, &channels, &headers).await.is_empty(), "those are of the revision before");
    let again = all_due(outbox).await;
    assert_eq!(seen(&again), [(headers[0].id, Revision(1))]);
    assert_eq!(ids(&claim(outbox, &term, &channels, &again).await), [headers[0].id.0]);
}

/// An open transaction takes a message back: claims pass it over, and wait for nobody. What is claimed is not taken back any
/// more.
pub async fn a_row_that_is_being_taken_back_is_left_and_the_others_are_claimed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut rows = Vec::new();
    for key in ["'a'", "'b'", "'c'"] {
        rows.push(outbox.insert(&[("idempotency_key", key)]).await.0);
    }
    let mut application = PgConnection::connect(outbox.url()).await.unwrap();
    let mut cancel = async |statement: &str, key: &str| -> bool {
        raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut application).await.unwrap();
        sqlx::query_scalar("SELECT outbox_cancel($1)").bind(key).fetch_one(&mut application).await.unwrap()
    };
    let headers = all_due(outbox).await;
    let promptly = Duration::from_secs(3);
    assert!(cancel("BEGIN", "b").await);
    let claimed = tokio::time::timeout(promptly, claim(outbox, &term, &channels, &headers)).await.unwrap();
    assert_eq!(ids(&claimed), [rows[0], rows[2]]);
    assert_eq!(held(outbox).await, [rows[0], rows[2]]);
    assert!(!cancel("ROLLBACK", "a").await, "it is claimed");
    assert_eq!(ids(&claim(outbox, &term, &channels, &headers[1..2]).await), [rows[1]]);

    for key in ["'d'", "'e'"] {
        rows.push(outbox.insert(&[("idempotency_key", key)]).await.0);
    }
    assert!(cancel("BEGIN", "d").await);
    let terms = terms(&channels);
    let ask = LookAndClaim { behind: behind(WalkStart::default(), &headers), ..idle(&terms) };
    let looked = tokio::time::timeout(promptly, outbox.due().look_and_claim(&term, &ask)).await.unwrap().unwrap();
    assert_eq!((shown(&looked.headers), ids(&looked.messages)), (rows[3..].to_vec(), vec![rows[4]]));
}
