//! Rows that a database takes and that hardly any application means: none keeps the others from being claimed.

use std::collections::BTreeMap;

use outbox_desk::{Author, ByHand, Desk, MessageFilter};
use outbox_schema::MessageId;
use outbox_store::{ChannelTerms, TermId};

use super::{Ask, Dialect, Outbox, http, ids};

/// Claims, twice under one id, and expects exactly these rows.
async fn all_are_claimed(outbox: &Outbox, term: &TermId, channels: &[ChannelTerms], mut rows: Vec<i64>) {
    rows.sort_unstable();
    let ask = Ask::of(channels);
    for _ in 0..2 {
        let mut claimed = ids(&outbox.claim(term, &ask).await);
        claimed.sort_unstable();
        assert_eq!(claimed, rows);
    }
}

/// And people can look at them.
async fn can_be_looked_at(outbox: &Outbox, row: MessageId) {
    assert!(outbox.database().message(row).await.unwrap().is_some());
    let page = outbox.database().messages(&MessageFilter::default(), None, 1_000).await.unwrap();
    assert!(page.messages.iter().any(|message| message.id == row.0));
    assert!(outbox.database().vitals(&[]).await.unwrap().channels.iter().any(|channel| channel.pending > 0));
    outbox.database().destinations(true).await.unwrap();
}

/// A driver of Go writes its zero time as 0000-00-00 to MySQL.
pub async fn a_time_that_is_no_moment_keeps_no_row_from_being_claimed(outbox: &Outbox) {
    let no_moments = match outbox.dialect {
        Dialect::Postgres => ["'infinity'", "'-infinity'"],
        Dialect::MySql => ["'0000-00-00'", "'2001-00-00'"],
        Dialect::Sqlite => ["9e999", "-9e999"],
    };
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut rows = vec![outbox.insert(&[]).await];
    for time in no_moments {
        for column in ["created_at", "first_attempt_at"] {
            rows.push(outbox.insert(&[(column, time)]).await);
            rows.push(
                outbox
                    .insert(&[(column, time), ("ordering_key", &format!("'{}'", rows.len())), ("priority", "2")])
                    .await,
            );
        }
    }
    for row in &rows {
        can_be_looked_at(outbox, *row).await;
    }
    all_are_claimed(outbox, &term, &channels, rows.iter().map(|row| row.0).collect()).await;
}

/// It is long past, also where it comes before all that the calendar knows.
pub async fn a_row_that_is_due_since_before_all_time_is_claimed(outbox: &Outbox) {
    let before_all_time = match outbox.dialect {
        Dialect::Postgres => "'-infinity'",
        Dialect::MySql => "'0000-00-00'",
        Dialect::Sqlite => "-9e999",
    };
    let due = ("available_at", before_all_time);
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let unknown = outbox.insert(&[due, ("channel", "'nobody'")]).await;
    let mut rows = vec![outbox.insert(&[]).await, outbox.insert(&[due, ("ordering_key", "'k'")]).await];
    for priority in ["0", "1", "2", "3"] {
        rows.push(outbox.insert(&[due, ("priority", priority)]).await);
    }
    can_be_looked_at(outbox, unknown).await;
    outbox.defer_unknown(&term, &channels).await;
    all_are_claimed(outbox, &term, &channels, rows.iter().map(|row| row.0).collect()).await;
    assert_eq!(outbox.count(&format!("outbox WHERE id = {unknown} AND deferred_from IS NOT NULL")).await, 1);
    can_be_looked_at(outbox, unknown).await;
}

/// SQLite takes any bytes for a text.
pub async fn a_text_that_is_not_utf8_keeps_no_row_from_being_claimed(outbox: &Outbox) {
    let (latin1, json) = ("CAST(x'687474e9' AS TEXT)", "CAST(x'7b2261223a22e9227d' AS TEXT)");
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let mut rows = vec![outbox.insert(&[]).await];
    for column in ["idempotency_key", "target", "ordering_key", "traceparent", "tracestate"] {
        rows.push(outbox.insert(&[(column, latin1)]).await);
    }
    for column in ["payload", "headers"] {
        rows.push(outbox.insert(&[(column, json)]).await);
    }
    let unknown = [outbox.insert(&[("channel", latin1)]).await, outbox.insert(&[("channel", latin1)]).await];
    for row in rows.iter().chain(&unknown) {
        can_be_looked_at(outbox, *row).await;
    }
    let deferred = outbox.defer_unknown(&term, &channels).await;
    assert_eq!(deferred, BTreeMap::from([("htt\u{fffd}".to_owned(), 2)]));
    let (_, claimed) = outbox.claim_all(&term, &channels).await;
    let payloads: Vec<_> = claimed.iter().map(|message| message.payload.as_str()).collect();
    assert!(payloads.contains(&"{\"a\":\"\u{fffd}\"}"), "{payloads:?}");
    all_are_claimed(outbox, &term, &channels, rows.iter().map(|row| row.0).collect()).await;
    can_be_looked_at(outbox, unknown[0]).await;
    // The audit keeps what the row said.
    let [cancelled, other] = unknown;
    outbox.database().cancel(cancelled, &Author::default()).await.unwrap();
    let record = outbox.database().message(cancelled).await.unwrap().expect("it is there");
    assert_eq!(record.audit.len(), 1, "{record:?}");
    can_be_looked_at(outbox, other).await;
}

/// To MySQL both names are equal, and nobody can mean the one with the space.
pub async fn a_channel_whose_name_ends_in_a_space_is_refused(outbox: &Outbox) {
    let refused = outbox.try_insert(&[("channel", "'http '"), ("ordering_key", "'k'")]).await.unwrap_err().to_string();
    assert!(refused.contains("_in_no_space"), "{refused}");
}
