//! What a claim takes of destinations that nobody knows yet, how it asks about them, and how it goes on from what it found.

use std::any::Any;
use std::collections::BTreeMap;

use outbox_schema::destination::DestinationRoom;
use outbox_schema::{ChannelTerms, ClaimId, ClaimRequest, Epoch, Message, StoreError, Strangers, TermId};
use sqlx::{Connection, MySqlConnection, PgConnection};

use super::turns::{TURNS, of_tenants, to, write};
use super::{Dialect, Outbox, http, request};

/// A claim takes of all strangers together as much as it is told to. Where it meets more of them it asks.
pub async fn strangers_share_their_room(outbox: &Outbox) {
    let channels = [ChannelTerms { room: 1, ..http() }];
    let term = outbox.term(&channels).await;
    for host in ["a", "b", "c", "d"] {
        write(outbox, 3, &[("target", &to(host))]).await;
    }
    let known = [DestinationRoom { destination: "https://d.example:443".to_owned(), room: 2 }];
    let strangers = Strangers { rows: 2, bytes: 1_000, ask: true };
    let ask = ClaimRequest { rooms: &known, strangers, ..request(&channels) };
    let mut asked = outbox.store.claim(&term, &ask).await.unwrap();
    asked.asked.sort();
    assert_eq!(asked.asked, ["a", "b", "c"].map(|host| format!("https://{host}.example:443")));
    assert!(asked.messages.is_empty());

    let ask = ClaimRequest { strangers: Strangers { ask: false, ..strangers }, ..ask };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
    let expected =
        BTreeMap::from([("https://a.example:443", 1), ("https://b.example:443", 1), ("https://d.example:443", 2)]);
    assert_eq!(of_tenants(&claimed), expected);

    let term = outbox.term(&channels).await;
    let few_bytes = Strangers { rows: 9, bytes: 40, ask: true };
    let ask = ClaimRequest { rooms: &known, strangers: few_bytes, ..request(&channels) };
    assert_eq!(outbox.store.claim(&term, &ask).await.unwrap().asked.len(), 3, "they want more bytes than they may get");
    let ask = ClaimRequest { strangers: Strangers { ask: false, ..few_bytes }, ..ask };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
    assert_eq!(of_tenants(&claimed), BTreeMap::from([("https://a.example:443", 1), ("https://d.example:443", 2)]));
}

/// A claim that asks about strangers goes on in the order of turns, also where only their places are too few for all that is due: the
/// urgent messages of silent hosts keep no newcomer waiting.
pub async fn strangers_take_turns_where_a_claim_asks(outbox: &Outbox) {
    let channels = [ChannelTerms { room: 1, ..http() }];
    let term = outbox.term(&channels).await;
    for host in 0..20 {
        write(outbox, 1, &[("target", &to(&format!("silent{host}"))), ("priority", "3")]).await;
    }
    write(outbox, 1, &[("target", &to("newcomer"))]).await;
    let strangers = Strangers { rows: 8, bytes: 1 << 20, ask: true };
    let ask = ClaimRequest { strangers, turns: Some(TURNS[1]), ..request(&channels) };
    let asked = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(asked.asked.len(), 21);
    let strangers = Strangers { ask: false, ..strangers };
    let ask = ClaimRequest { strangers, found: Some(&asked.found), ..ask };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap().messages;
    assert_eq!(claimed.len(), 8);
    assert!(of_tenants(&claimed).contains_key("https://newcomer.example:443"), "{:?}", of_tenants(&claimed));
}

/// A claim that asked is made again of what it found. What it leaves, another claim may take without a look: but no row that has moved
/// on meanwhile.
pub async fn claims_go_on_from_what_was_found(outbox: &Outbox) {
    let channels = [ChannelTerms { room: 1, ..http() }];
    let term = outbox.term(&channels).await;
    for host in ["a", "b", "c", "d", "e"] {
        write(outbox, 1, &[("target", &to(host))]).await;
    }
    let strangers = Strangers { rows: 2, bytes: 1 << 20, ask: true };
    let ask = ClaimRequest { strangers, ..request(&channels) };
    let asked = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!((asked.asked.len(), asked.found.destinations().len()), (5, 5));

    write(outbox, 1, &[("target", &to("later")), ("priority", "3")]).await;
    let strangers = Strangers { ask: false, ..strangers };
    let ask = ClaimRequest { strangers, found: Some(&asked.found), ..ask };
    let first = outbox.store.claim(&term, &ask).await.unwrap();
    let hosts =
        |messages: &[Message]| messages.iter().map(|message| message.target[8..9].to_owned()).collect::<String>();
    assert_eq!(hosts(&first.messages), "ab");
    let again = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(hosts(&again.messages), "ab", "the answer was lost");

    outbox.execute("UPDATE outbox SET revision = revision + 1 WHERE target LIKE '%//c.%'").await;
    let mut left = first.found;
    assert_eq!(left.destinations().len(), 3);
    left.leave_out(&[].into(), &["https://d.example:443".to_owned()], &[]);
    let ask = ClaimRequest { claim: ClaimId::mint(), found: Some(&left), ..ask };
    assert_eq!(hosts(&outbox.store.claim(&term, &ask).await.unwrap().messages), "e");
}

/// What is of no known channel is moved out of the way, and the other rows go all the same.
pub async fn a_claim_goes_on_from_what_was_found_where_some_of_it_is_of_an_unknown_channel(outbox: &Outbox) {
    let channels = [ChannelTerms { room: 1, ..http() }];
    let term = outbox.term(&channels).await;
    write(outbox, 2, &[("channel", "'unknown'")]).await;
    for host in ["a", "b", "c"] {
        write(outbox, 1, &[("target", &to(host))]).await;
    }
    let strangers = Strangers { rows: 2, bytes: 1 << 20, ask: true };
    let ask = ClaimRequest { strangers, ..request(&channels) };
    let asked = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!((asked.asked.len(), asked.messages.len()), (3, 0));
    let strangers = Strangers { ask: false, ..strangers };
    let ask = ClaimRequest { strangers, found: Some(&asked.found), ..ask };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(claimed.messages.len(), 2, "{claimed:?}");
    assert_eq!(claimed.deferred, BTreeMap::from([("unknown".to_owned(), 2)]));
    assert!(claimed.asked.is_empty(), "{claimed:?}");
    assert_eq!(outbox.count("outbox WHERE deferred_from IS NOT NULL").await, 2);
    let stale = TermId { epoch: Epoch(0), ..term };
    let ask = ClaimRequest { claim: ClaimId::mint(), ..ask };
    let refused = outbox.store.claim(&stale, &ask).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
}

/// Where they are few among many, each claim that meets one would otherwise read the backlog.
pub async fn rows_of_an_unknown_channel_are_moved_with_those_close_behind_and_no_others(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    write(outbox, 1, &[("channel", "'unknown'")]).await;
    write(outbox, 1, &[]).await;
    let double =
        "INSERT INTO outbox (channel, target, payload) SELECT channel, target, payload FROM outbox WHERE id > 1";
    for _ in 0..10 {
        outbox.execute(double).await;
    }
    write(outbox, 1, &[("channel", "'unknown'")]).await;
    for _ in 10..12 {
        outbox.execute(&format!("{double} AND channel = 'http'")).await;
    }
    write(outbox, 1, &[("channel", "'unknown'")]).await;
    let claimed = outbox.store.claim(&term, &ClaimRequest { limit: 10, ..request(&channels) }).await.unwrap();
    assert_eq!(claimed.messages.len(), 9, "{:?}", claimed.messages);
    assert_eq!(claimed.deferred, BTreeMap::from([("unknown".to_owned(), 2)]));
}

/// Where an open cancellation has all that was found, the claim says so. It may look for others under its id, without those. Not on
/// SQLite: there whoever cancels has the whole file.
pub async fn a_claim_says_that_others_hold_all_that_it_found(outbox: &Outbox) {
    if outbox.dialect == Dialect::Sqlite {
        return;
    }
    let channels = [ChannelTerms { room: 1, ..http() }];
    let term = outbox.term(&channels).await;
    for host in ["a", "b", "c"] {
        write(outbox, 1, &[("target", &to(host))]).await;
    }
    let strangers = Strangers { rows: 0, bytes: 1 << 20, ask: true };
    let ask = ClaimRequest { strangers, ..request(&channels) };
    let asked = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(asked.asked.len(), 3);
    let _open = cancelling_all(outbox).await;
    write(outbox, 1, &[("target", &to("later"))]).await;

    let room = Strangers { rows: 8, ask: false, ..strangers };
    let of_found = ClaimRequest { strangers: room, found: Some(&asked.found), ..ask };
    let claimed = outbox.store.claim(&term, &of_found).await.unwrap();
    assert!(claimed.messages.is_empty() && claimed.asked.is_empty(), "{claimed:?}");
    assert_eq!(claimed.held.len(), 3);

    let others = ClaimRequest { excluded: &claimed.held, ..ask };
    let asked = outbox.store.claim(&term, &others).await.unwrap();
    assert_eq!(asked.asked, ["https://later.example:443"]);
    let of_found = ClaimRequest { strangers: room, found: Some(&asked.found), ..others };
    let claimed = outbox.store.claim(&term, &of_found).await.unwrap();
    assert_eq!(of_tenants(&claimed.messages).into_keys().collect::<Vec<_>>(), ["https://later.example:443"]);
    assert!(claimed.held.is_empty(), "{claimed:?}");
}

/// What an application that takes back whatever waits has locked, before it commits. It ends when this is dropped.
async fn cancelling_all(outbox: &Outbox) -> Box<dyn Any> {
    if outbox.dialect == Dialect::Postgres {
        let mut connection = PgConnection::connect(outbox.url()).await.unwrap();
        let cancel = "BEGIN; SELECT outbox_cancel(idempotency_key) FROM outbox";
        sqlx::raw_sql(cancel).execute(&mut connection).await.unwrap();
        return Box::new(connection);
    }
    let mut connection = MySqlConnection::connect(outbox.url()).await.unwrap();
    // The procedure is made by a script of its own. It locks these.
    let lock = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN; \
                SELECT shard FROM outbox_cancelling LOCK IN SHARE MODE; SELECT id FROM outbox FOR UPDATE";
    sqlx::raw_sql(lock).execute(&mut connection).await.unwrap();
    Box::new(connection)
}
