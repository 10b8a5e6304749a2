//! Whose turn it is where more is due than a claim takes.

use std::collections::{BTreeMap, BTreeSet};

use outbox_schema::destination::DestinationRoom;
use outbox_schema::{ChannelTerms, ClaimId, ClaimRequest, Message, Strangers, Tenant, Turns};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Outbox, http, once, request};

/// Turns that begin anywhere. The newest rows go first where the number is odd.
pub(super) const TURNS: [Turns<'static>; 2] = [
    Turns { from: 1 << 40, tenants: 100, served: &[], glance: false },
    Turns { from: (1 << 47) + 1, tenants: 100, served: &[], glance: false },
];

/// The same, and then turns where a claim may do without a walk.
const WITH_A_WALK_OR_WITHOUT: [Turns<'static>; 3] = [TURNS[0], TURNS[1], Turns { glance: true, ..TURNS[0] }];

pub(super) async fn write(outbox: &Outbox, messages: usize, columns: &[(&str, &str)]) {
    for _ in 0..messages {
        outbox.insert(columns).await;
    }
}

pub(super) fn to(host: &str) -> String {
    format!("'https://{host}.example/x'")
}

/// How many messages of each tenant were claimed.
pub(super) fn of_tenants(messages: &[Message]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for message in messages {
        *counts.entry(message.whose_turn()).or_default() += 1;
    }
    counts
}

/// Tenants are named by the row, or are destinations.
pub async fn whoever_has_little_is_claimed_beside_the_backlog_of_another(outbox: &Outbox) {
    let channels = [http()];
    write(outbox, 60, &[("target", &to("noisy"))]).await;
    write(outbox, 60, &[("target", &to("noisy")), ("tenant", "'loud'")]).await;
    write(outbox, 2, &[("target", &to("quiet"))]).await;
    write(outbox, 1, &[("target", &to("noisy")), ("tenant", "'silent'")]).await;
    for turns in WITH_A_WALK_OR_WITHOUT {
        let term = outbox.term(&channels).await;
        let ask = ClaimRequest { limit: 20, turns: Some(turns), ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap();
        let taken = of_tenants(&claimed.messages);
        assert_eq!((taken["https://quiet.example:443"], taken["silent"]), (2, 1), "{taken:?}");
        // What is left goes to the two who have much, one row after the other.
        assert_eq!(taken["https://noisy.example:443"].abs_diff(taken["loud"]), 1, "{taken:?}");
        assert_eq!((taken.len(), claimed.messages.len()), (4, 20), "{taken:?}");
        assert!(!claimed.took_all);
    }
}

/// Behind many messages of another tenant, and before many.
async fn between(outbox: &Outbox, columns: &[(&str, &str)], count: usize) {
    write(outbox, 60, &[("target", &to("noisy"))]).await;
    write(outbox, count, columns).await;
    write(outbox, 80, &[("target", &to("noisy"))]).await;
}

/// Whatever its name: the first of these has a hash near the end of all numbers, and one begins with a space.
pub async fn each_name_of_a_tenant_has_its_turn(outbox: &Outbox) {
    let channels = [http()];
    for tenant in ["tenant-44148", " a", "a\u{10ffff}"] {
        between(outbox, &[("target", &to("quiet")), ("tenant", &format!("'{tenant}'"))], 1).await;
        for turns in WITH_A_WALK_OR_WITHOUT {
            let term = outbox.term(&channels).await;
            let ask = ClaimRequest { limit: 20, turns: Some(turns), ..request(&channels) };
            let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
            assert_eq!(of_tenants(&claimed).get(tenant), Some(&1), "{tenant:?}: {:?}", of_tenants(&claimed));
        }
    }
}

/// An ordering key has its place in the turns by the tenant of its first message.
pub async fn the_heads_of_ordering_keys_take_turns_with_tenants(outbox: &Outbox) {
    let channels = [http()];
    between(outbox, &[("target", &to("quiet")), ("ordering_key", "'order-17'")], 3).await;
    for turns in WITH_A_WALK_OR_WITHOUT {
        let term = outbox.term(&channels).await;
        let ask = ClaimRequest { limit: 20, turns: Some(turns), ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
        assert_eq!(of_tenants(&claimed)["https://quiet.example:443"], 1, "the first of its key");
        assert_eq!(claimed.len(), 20);
    }
}

/// What a tenant has for one that is open stands behind what it has for another that is closed.
pub async fn closed_destinations_take_no_turn_of_their_tenant(outbox: &Outbox) {
    let channels = [http()];
    write(outbox, 60, &[("target", &to("noisy"))]).await;
    write(outbox, 30, &[("target", &to("closed")), ("tenant", "'shop'")]).await;
    between(outbox, &[("target", &to("open")), ("tenant", "'shop'")], 1).await;
    let closed = ["https://closed.example:443".to_owned()];
    for turns in WITH_A_WALK_OR_WITHOUT {
        let term = outbox.term(&channels).await;
        let ask = ClaimRequest { limit: 20, turns: Some(turns), closed: &closed, ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
        assert_eq!(of_tenants(&claimed).get("shop"), Some(&1), "{:?}", of_tenants(&claimed));
    }
}

/// As long as there is enough for all, nothing is paid for turns.
pub async fn turns_change_nothing_where_a_claim_takes_all_that_is_due(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 5, &[("target", &to("one"))]).await;
    write(outbox, 5, &[("target", &to("another"))]).await;
    let ask = ClaimRequest { turns: Some(TURNS[1]), ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    let ids: Vec<i64> = claimed.messages.iter().map(|message| message.id).collect();
    assert!(ids.is_sorted() && ids.len() == 10, "{ids:?}");
    assert!(claimed.took_all);
}

/// Ordered messages have their turns, however many tenants have more than a claim takes.
pub async fn ordering_keys_take_turns_beside_very_many_tenants(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    for host in 0..100 {
        write(outbox, 2, &[("target", &to(&format!("host{host}")))]).await;
    }
    for key in 0..20 {
        write(outbox, 1, &[("target", &to("ordered")), ("ordering_key", &format!("'{key}'"))]).await;
    }
    for turns in WITH_A_WALK_OR_WITHOUT {
        let ask = ClaimRequest { limit: 120, turns: Some(turns), ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
        assert!(claimed.iter().any(|message| message.ordering_key.is_some()), "{turns:?}: {:?}", of_tenants(&claimed));
    }
}

/// Half of a claim goes to each of two channels, whatever tenants there are.
pub async fn channels_take_turns(outbox: &Outbox) {
    let channels = [http(), once()];
    for host in ["a", "b", "c"] {
        write(outbox, 20, &[("target", &to(host))]).await;
    }
    write(outbox, 20, &[("channel", "'once'"), ("target", &to("d"))]).await;
    for turns in WITH_A_WALK_OR_WITHOUT {
        let term = outbox.term(&channels).await;
        let ask = ClaimRequest { limit: 20, turns: Some(turns), ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
        let once = claimed.iter().filter(|message| message.channel == "once").count();
        assert_eq!((claimed.len(), once), (20, 10), "{turns:?}");
    }
}

/// Numbers stand for the names of channels where turns are found, and names may share one: the first two on PostgreSQL, the others on
/// MySQL. Whatever a claim finds twice, it brings once.
pub async fn channels_whose_names_share_a_number_bring_each_message_once(outbox: &Outbox) {
    let [numbers @ .., closed] = ["partner-145", "partner-423", "erp", "erp-40", "closed"];
    let named = |name: &str| ChannelTerms { name: name.to_owned(), ..http() };
    let all = numbers.map(named);
    for (first, second) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
        // Only one of the two has messages, then both have.
        for round in 0..2 {
            outbox.execute("DELETE FROM outbox").await;
            for (channel, rows) in [(first, 60), (second, 40 * round)] {
                let channel = format!("'{}'", all[channel].name);
                write(outbox, rows, &[("channel", &channel), ("target", &to("one"))]).await;
                write(outbox, rows, &[("channel", &channel), ("target", &to("another"))]).await;
            }
            let channels = [all[first].clone(), named(closed), all[second].clone()];
            for turns in WITH_A_WALK_OR_WITHOUT {
                let term = outbox.term(&channels).await;
                let ask = ClaimRequest { turns: Some(turns), ..request(&channels) };
                let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
                let ids: BTreeSet<i64> = claimed.iter().map(|message| message.id).collect();
                assert_eq!((ids.len(), claimed.len()), (100, 100), "{} {turns:?}", all[first].name);
                // A pause holds a channel by its name.
                let paused = [all[first].name.clone()];
                let term = outbox.term(&channels).await;
                let ask = ClaimRequest { turns: Some(turns), closed_channels: &paused, ..request(&channels) };
                let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
                assert!(claimed.iter().all(|message| message.channel != paused[0]), "{paused:?} {turns:?}");
                assert_eq!(claimed.is_empty(), round == 0, "{paused:?} {turns:?}");
            }
        }
    }
}

/// These two have one checksum, which is the number of a tenant on MySQL.
pub async fn a_closed_destination_hides_none_whose_name_shares_its_number(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 60, &[("target", &to("noisy"))]).await;
    write(outbox, 5, &[("target", &to("nidmovh"))]).await;
    between(outbox, &[("target", &to("bubanxn"))], 2).await;
    let closed = ["https://nidmovh.example:443".to_owned()];
    let rooms = [DestinationRoom { destination: "https://bubanxn.example:443".to_owned(), room: 100 }];
    for turns in WITH_A_WALK_OR_WITHOUT {
        let ask = ClaimRequest { limit: 20, turns: Some(turns), closed: &closed, rooms: &rooms, ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
        assert_eq!(of_tenants(&claimed).get("https://bubanxn.example:443"), Some(&2), "{turns:?}");
    }
}

/// The urgent messages of one tenant do not keep another one waiting.
pub async fn priorities_decide_within_a_tenant(outbox: &Outbox) {
    let channels = [http()];
    write(outbox, 20, &[("target", &to("calm"))]).await;
    write(outbox, 10, &[("target", &to("urgent"))]).await;
    let first_urgent = outbox.insert(&[("target", &to("urgent")), ("priority", "3")]).await.0;
    write(outbox, 19, &[("target", &to("urgent")), ("priority", "3")]).await;
    for turns in WITH_A_WALK_OR_WITHOUT {
        let term = outbox.term(&channels).await;
        let ask = ClaimRequest { limit: 20, turns: Some(turns), ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
        let urgent: Vec<_> = claimed.iter().filter(|message| message.target.contains("urgent")).collect();
        assert_eq!((claimed.len(), urgent.len()), (20, 10), "{turns:?}");
        assert!(urgent.iter().all(|message| message.id >= first_urgent), "its urgent ones go first: {urgent:?}");
    }
}

/// With few tenants, a claim that may do without a walk does: so it says nothing of where walks may begin. A destination that is full
/// is no tenant then. Where nobody has more than the claim brings, there is a walk: only that proves it.
pub async fn a_claim_of_few_tenants_does_without_a_walk(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 30, &[("target", &to("full"))]).await;
    write(outbox, 30, &[("target", &to("noisy"))]).await;
    write(outbox, 1, &[("target", &to("quiet"))]).await;
    let rooms = [DestinationRoom { destination: "https://full.example:443".to_owned(), room: 0 }];
    let ask = ClaimRequest { limit: 20, turns: Some(WITH_A_WALK_OR_WITHOUT[2]), rooms: &rooms, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    let expected = BTreeMap::from([("https://noisy.example:443", 19), ("https://quiet.example:443", 1)]);
    assert_eq!(of_tenants(&claimed.messages), expected);
    assert!(claimed.reached.unwrap_or_default().is_beginning() && !claimed.took_all, "{:?}", claimed.reached);
    let excluded: Vec<_> = claimed.messages.iter().map(Message::id).collect();
    let ask = ClaimRequest { claim: ClaimId::mint(), excluded: &excluded, ..ask };
    let rest = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(rest.messages.len(), 11);
    assert!(!rest.reached.unwrap_or_default().is_beginning(), "what is left is for the full one");
}

/// As beside two hosts that are busy.
pub async fn a_claim_beside_tenants_of_which_none_has_room_brings_nothing(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let full = ["one", "other"].map(|host| (host, format!("https://{host}.example:443")));
    for (host, _) in &full {
        write(outbox, 30, &[("target", &to(host))]).await;
    }
    let rooms = full.map(|(_, destination)| DestinationRoom { destination, room: 0 });
    for turns in WITH_A_WALK_OR_WITHOUT {
        let ask = ClaimRequest { limit: 20, turns: Some(turns), rooms: &rooms, ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap();
        assert!(claimed.messages.is_empty(), "{turns:?}: {:?}", claimed.messages);
    }
}

/// Whatever tenants there are, whatever they send to, and whether or not a claim does without a walk: each has its part of it.
pub async fn each_tenant_has_its_part_of_a_claim(outbox: &Outbox) {
    const LIMIT: usize = 30;
    let channels = [http(), once()];
    let seed: u64 = rand::random();
    let mut chance = StdRng::seed_from_u64(seed);
    for round in 0..6 {
        outbox.execute("DELETE FROM outbox").await;
        let mut rooms = vec![DestinationRoom { destination: "https://good.example:443".to_owned(), room: 1_000 }];
        let mut wants = [const { Vec::new() }; 2];
        for tenant in 0..chance.random_range(2..20) {
            let (channel, rows) = (chance.random_range(0..2), chance.random_range(0..25));
            let named = chance.random_bool(0.5);
            let host = format!("t{tenant}");
            let room = [0, 3, 1_000][chance.random_range(0..3)];
            let (target, name) = if named { (to("good"), format!("'{host}'")) } else { (to(&host), "NULL".to_owned()) };
            if !named {
                rooms.push(DestinationRoom { destination: format!("https://{host}.example:443"), room });
            }
            let channel_name = format!("'{}'", channels[channel].name);
            let priority = chance.random_range(0..4).to_string();
            let columns =
                [("channel", &*channel_name), ("target", &target), ("tenant", &name), ("priority", &priority)];
            write(outbox, rows, &columns).await;
            let who = if named { host } else { format!("https://{host}.example:443") };
            wants[channel].push((who, if named { rows } else { rows.min(room as usize) }));
        }
        let busy = wants.iter().filter(|tenants| !tenants.is_empty()).count();
        for turns in WITH_A_WALK_OR_WITHOUT {
            let term = outbox.term(&channels).await;
            let limit = u32::try_from(LIMIT).unwrap();
            let ask = ClaimRequest { limit, turns: Some(turns), rooms: &rooms, ..request(&channels) };
            let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
            let taken = of_tenants(&claimed);
            for tenants in &wants {
                for (who, wanted) in tenants {
                    let part = LIMIT / busy / tenants.len();
                    let got = taken.get(who.as_str()).copied().unwrap_or_default();
                    assert!(
                        got >= part.min(*wanted),
                        "{who} got {got} of {wanted}, its part is {part}; seed {seed}, round {round}, {turns:?}: {taken:?}"
                    );
                }
            }
        }
    }
}

/// All of its messages count as those of one tenant.
pub async fn a_channel_without_turns_keeps_to_priority_and_age(outbox: &Outbox) {
    let channels = [ChannelTerms { fair: false, ..http() }];
    let term = outbox.term(&channels).await;
    write(outbox, 30, &[("target", &to("first"))]).await;
    write(outbox, 5, &[("target", &to("second"))]).await;
    write(outbox, 5, &[("target", &to("third")), ("priority", "1")]).await;
    let ask = ClaimRequest { limit: 20, turns: Some(TURNS[0]), ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
    let expected = BTreeMap::from([("https://first.example:443", 15), ("https://third.example:443", 5)]);
    assert_eq!(of_tenants(&claimed), expected);
}

/// The next walk begins behind what was claimed of the oldest, and not behind the turn of another tenant.
pub async fn turns_do_not_move_the_start_of_a_walk_past_what_was_left(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 40, &[("target", &to("noisy"))]).await;
    write(outbox, 3, &[("target", &to("quiet"))]).await;
    let mut met = Vec::new();
    let mut from = outbox_schema::WalkStart::default();
    for round in 0..5 {
        let excluded: Vec<_> = met.iter().map(|id| outbox_schema::MessageId(*id)).collect();
        let turns = Some(TURNS[round % 2]);
        let ask = ClaimRequest { limit: 10, turns, from, excluded: &excluded, ..request(&channels) };
        let claimed = outbox.store.claim(&term, &ask).await.unwrap();
        met.extend(claimed.messages.iter().map(|message| message.id));
        from = claimed.reached.map_or(from, |reached| reached.or(from));
    }
    met.sort_unstable();
    met.dedup();
    assert_eq!(met.len(), 43);
}

/// However many others wait for destinations that have no room, and however few of these a claim looks at.
pub async fn whoever_was_served_lately_is_looked_at_in_each_claim(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    for host in 0..200 {
        if host == 100 {
            write(outbox, 3, &[("target", &to("good")), ("tenant", "'served'")]).await;
        }
        write(outbox, 1, &[("target", &to(&format!("h{host}")))]).await;
    }
    let rooms = [DestinationRoom { destination: "https://good.example:443".to_owned(), room: 9 }];
    let strangers = Strangers { rows: 2, bytes: 1_000, ask: false };
    let served = [Tenant { channel: "http".to_owned(), name: "served".to_owned() }];
    let turns = Some(Turns { from: 0, tenants: 1, served: &served, glance: false });
    let ask = ClaimRequest { limit: 20, rooms: &rooms, strangers, turns, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
    assert!(of_tenants(&claimed).contains_key("served"), "{:?}", of_tenants(&claimed));
}

/// Thousands that failed come due again each second, and each later than what was written meanwhile.
pub async fn the_newest_that_was_never_tried_goes_before_those_that_come_again(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let begun = outbox.moment(-60_000);
    for host in 0..200 {
        if host == 100 {
            write(outbox, 1, &[("target", &to("good"))]).await;
        }
        let target = to(&format!("h{host}"));
        let again = [("target", target.as_str()), ("attempts", "1"), ("first_attempt_at", &begun)];
        write(outbox, 1, if host < 100 { &again[..1] } else { &again }).await;
    }
    let strangers = Strangers { rows: 2, bytes: 1_000, ask: false };
    let turns = Some(Turns { tenants: 1, ..TURNS[1] });
    let ask = ClaimRequest { limit: 20, strangers, turns, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
    assert!(of_tenants(&claimed).contains_key("https://good.example:443"), "{:?}", of_tenants(&claimed));
}

/// A channel takes turns with another one however many tenants that has: the one tenant of a channel has all of its part.
pub async fn the_only_tenant_of_a_channel_has_half_of_a_claim_beside_a_channel_of_many(outbox: &Outbox) {
    let channels = [http(), once()];
    let rooms = [DestinationRoom { destination: "https://good.example:443".to_owned(), room: 1_000 }];
    for tenants in [12, 40] {
        outbox.execute("DELETE FROM outbox").await;
        let many = async || {
            for tenant in 0..tenants {
                write(outbox, 240 / tenants, &[("target", &to("good")), ("tenant", &format!("'t{tenant}'"))]).await;
            }
        };
        // Its messages are neither the oldest nor the newest.
        many().await;
        let once = format!("'{}'", once().name);
        write(outbox, 60, &[("channel", &once), ("target", &to("good")), ("tenant", "'alone'")]).await;
        many().await;
        for turns in WITH_A_WALK_OR_WITHOUT {
            let term = outbox.term(&channels).await;
            let ask = ClaimRequest { limit: 60, turns: Some(turns), rooms: &rooms, ..request(&channels) };
            let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
            let taken = of_tenants(&claimed);
            assert_eq!((claimed.len(), taken["alone"]), (60, 30), "{tenants} tenants, {turns:?}: {taken:?}");
        }
    }
}
