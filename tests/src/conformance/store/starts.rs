//! Where walks begin.

use outbox_schema::destination::DestinationRoom;
use outbox_schema::{ClaimId, ClaimRequest, MessageId, Turns, WalkStart};

use super::{Dialect, Outbox, http, ids, request};

/// A moment long ago, the same for all rows of a transaction.
fn long_ago(outbox: &Outbox) -> &'static str {
    match outbox.dialect {
        Dialect::Postgres | Dialect::MySql => "'2001-01-01 00:00:00.123457'",
        Dialect::Sqlite => "978307200123",
    }
}

async fn insert(outbox: &Outbox, available_at: &str, rows: usize) -> Vec<i64> {
    let mut inserted = Vec::new();
    for _ in 0..rows {
        inserted.push(outbox.insert(&[("available_at", available_at)]).await.0);
    }
    inserted
}

/// Also where all rows became due at the same moment.
pub async fn a_walk_goes_on_behind_what_was_claimed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let low = insert(outbox, long_ago(outbox), 5).await;
    let high = outbox.insert(&[("priority", "2"), ("available_at", long_ago(outbox))]).await.0;
    let first = outbox.store.claim(&term, &ClaimRequest { limit: 3, ..request(&channels) }).await.unwrap();
    assert_eq!(ids(&first.messages), [high, low[0], low[1]]);

    // Nothing is excluded, so only the start leaves out what was claimed.
    let from = first.reached.unwrap();
    let second = outbox.store.claim(&term, &ClaimRequest { limit: 2, from, ..request(&channels) }).await.unwrap();
    assert_eq!(ids(&second.messages), low[2..4]);
    let from = second.reached.unwrap();
    let last = outbox.store.claim(&term, &ClaimRequest { from, ..request(&channels) }).await.unwrap();
    assert_eq!(ids(&last.messages), low[4..]);
}

/// They are found in another way, from the beginning, so they do not keep the walk of the others from its start.
pub async fn a_walk_goes_on_behind_what_was_claimed_beside_heads_of_ordering_keys(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let due = ("available_at", long_ago(outbox));
    let mut rows = Vec::new();
    for ordering_key in ["NULL", "'a'", "NULL", "'b'", "NULL"] {
        rows.push(outbox.insert(&[due, ("ordering_key", ordering_key)]).await.0);
    }
    let first = outbox.store.claim(&term, &ClaimRequest { limit: 4, ..request(&channels) }).await.unwrap();
    assert_eq!(ids(&first.messages), rows[..4]);
    let heads = [MessageId(rows[1]), MessageId(rows[3])];
    let rest = ClaimRequest { from: first.reached.unwrap(), excluded: &heads, ..request(&channels) };
    assert_eq!(ids(&outbox.store.claim(&term, &rest).await.unwrap().messages), rows[4..]);
}

/// Its transaction began before those of rows that are claimed already, and it was not seen then.
pub async fn a_late_commit_with_an_old_available_at_is_claimed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let rows = insert(outbox, long_ago(outbox), 3).await;
    let ask = ClaimRequest { limit: 2, ..request(&channels) };
    let from = outbox.store.claim(&term, &ask).await.unwrap().reached.unwrap_or_default();

    let late = outbox.insert(&[("available_at", &outbox.moment(-3_600_000 * 24 * 365 * 40))]).await.0;
    let claimed: Vec<_> = rows[..2].iter().map(|id| MessageId(*id)).collect();
    let ask = ClaimRequest { from: WalkStart::default(), excluded: &claimed, ..request(&channels) };
    assert_eq!(ids(&outbox.store.claim(&term, &ask).await.unwrap().messages), [late, rows[2]]);

    // What became due within the last second is found from any start.
    let recent = outbox.insert(&[]).await.0;
    let ask = ClaimRequest { from, excluded: &claimed, ..request(&channels) };
    let from = outbox.store.claim(&term, &ask).await.unwrap().reached.unwrap_or_default();
    let a_moment_before = outbox.insert(&[("available_at", &outbox.moment(-500))]).await.0;
    let ask = ClaimRequest { from, excluded: &claimed, ..request(&channels) };
    let found = ids(&outbox.store.claim(&term, &ask).await.unwrap().messages);
    assert!(found.contains(&recent) && found.contains(&a_moment_before), "{found:?}");
}

/// Or it would be found a second later only.
pub async fn a_walk_that_leaves_a_row_is_followed_by_one_that_begins_before_it(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let body = format!("'\"{}\"'", "x".repeat(98));
    let mut rows = Vec::new();
    for _ in 0..3 {
        rows.push(outbox.insert(&[("payload", &body), ("available_at", long_ago(outbox))]).await.0);
    }
    let narrow = ClaimRequest { max_bytes: 250, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &narrow).await.unwrap();
    assert_eq!(ids(&claimed.messages), rows[..2]);
    // The answer to a repeated claim does not tell what its walk came by.
    assert_eq!(outbox.store.claim(&term, &narrow).await.unwrap().reached, None);
    let sent: Vec<_> = rows[..2].iter().map(|id| MessageId(*id)).collect();
    let next = ClaimRequest { from: claimed.reached.unwrap_or_default(), excluded: &sent, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &next).await.unwrap();
    assert_eq!(ids(&claimed.messages), rows[2..]);

    // Not even where rows behind it are claimed.
    let full = ("target", "'https://full.example/'");
    let left = outbox.insert(&[full, ("available_at", long_ago(outbox))]).await.0;
    let behind = outbox.insert(&[("available_at", long_ago(outbox))]).await.0;
    let sent: Vec<_> = rows.iter().map(|id| MessageId(*id)).collect();
    let room = [DestinationRoom { destination: "https://full.example:443".to_owned(), room: 0 }];
    let ask = ClaimRequest { rooms: &room, excluded: &sent, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(ids(&claimed.messages), [behind]);
    let sent = [&sent[..], &[MessageId(behind)]].concat();
    let next = ClaimRequest { from: claimed.reached.unwrap_or_default(), excluded: &sent, ..request(&channels) };
    assert_eq!(ids(&outbox.store.claim(&term, &next).await.unwrap().messages), [left]);
}

/// They may be very many, and are not to be passed over in each claim. What there was no room for stands before the start,
/// whoever's turn it was.
pub async fn a_walk_passes_over_what_closed_destinations_have_only_once(outbox: &Outbox) {
    let channels = [http()];
    let due = ("available_at", long_ago(outbox));
    let mut rows = Vec::new();
    for host in ["closed", "full", "good"] {
        let target = format!("'https://{host}.example/'");
        rows.push([
            outbox.insert(&[due, ("target", &target)]).await.0,
            outbox.insert(&[due, ("target", &target)]).await.0,
        ]);
    }
    let [before, left, taken] = [rows[0], rows[1], rows[2]];
    let closed = ["https://closed.example:443".to_owned()];
    let rooms = [("full", 0), ("good", 1)]
        .map(|(host, room)| DestinationRoom { destination: format!("https://{host}.example:443"), room });
    let term = outbox.term(&channels).await;
    let turns = Some(Turns { from: 0, tenants: 100, served: &[], glance: false });
    let ask = ClaimRequest { closed: &closed, rooms: &rooms, turns, ..request(&channels) };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!(ids(&claimed.messages), taken[..1]);
    let from = claimed.reached.unwrap();

    let sent = [MessageId(taken[0])];
    let next = outbox.store.claim(&term, &ClaimRequest { from, excluded: &sent, ..request(&channels) }).await.unwrap();
    assert_eq!(ids(&next.messages), [left[0], left[1], taken[1]], "without {before:?}");

    // Also where the claim takes nothing.
    let none = rooms.clone().map(|room| DestinationRoom { room: 0, ..room });
    let ask = ClaimRequest { claim: ClaimId::mint(), rooms: &none, excluded: &sent, ..ask };
    let claimed = outbox.store.claim(&term, &ask).await.unwrap();
    assert_eq!((claimed.messages.len(), claimed.reached), (0, Some(from)));
}
