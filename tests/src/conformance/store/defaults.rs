//! What the database adds to the three columns that an application writes.

use std::time::{Duration, SystemTime};

use outbox_store::Message;

use super::{Dialect, Outbox, http};

/// Any language can enqueue with plain SQL.
pub async fn three_columns_suffice(outbox: &Outbox) {
    let rows = "('http', '/a', '{\"n\": 1}'), ('http', '/b', '{\"n\": 2}'), ('http', '/c', '{\"n\": 3}')";
    outbox.execute(&format!("INSERT INTO outbox (channel, target, payload) VALUES {rows}")).await;
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let (_, claimed) = outbox.claim_all(&term, &channels).await;

    assert_eq!(claimed.len(), 3);
    let mut keys: Vec<_> = claimed.iter().map(|message| message.idempotency_key.clone()).collect();
    for key in &keys {
        assert_eq!(uuid::Uuid::parse_str(key).unwrap().get_version_num(), 7, "{key}");
    }
    keys.dedup();
    assert_eq!(keys.len(), 3, "keys differ within one statement");
    let payloads: Vec<_> = claimed.iter().map(|message| message.payload.as_str()).collect();
    assert_eq!(payloads, [r#"{"n": 1}"#, r#"{"n": 2}"#, r#"{"n": 3}"#]);
    assert!(claimed.iter().all(|message| (0..60_000).contains(&message.waited_ms)));
    assert!(claimed.iter().all(written_just_now));
}

/// PostgreSQL: by the rules of a language, as most databases are set up, an entry in an index costs several times as much.
pub async fn indexes_compare_by_bytes(outbox: &Outbox) {
    let by_language = outbox
        .strings(
            &["c.relname || '(' || a.attname || ')'"],
            "pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE i.indrelid IN ('outbox'::regclass, 'outbox_destination'::regclass)
               AND a.attcollation NOT IN (0, 'pg_catalog.\"C\"'::regcollation)",
        )
        .await;
    assert!(by_language.is_empty(), "{by_language:?}");
}

/// PostgreSQL: with a large backlog it would compile the statements of each claim anew, for much longer than they run.
pub async fn no_statement_is_compiled(outbox: &Outbox) {
    assert_eq!(outbox.strings(&["current_setting('jit')"], "outbox_meta").await, [[Some("off".to_owned())]]);
}

/// The application's session may be in any time zone.
pub async fn a_row_written_in_another_time_zone_is_due_at_once(outbox: &Outbox) {
    let insert = "INSERT INTO outbox (channel, target, payload) VALUES ('http', '/a', '{}')";
    let statements = match outbox.dialect {
        Dialect::Postgres => format!("SET TIME ZONE 'Asia/Tokyo'; {insert}; RESET TIME ZONE"),
        Dialect::MySql => format!("SET time_zone = '+09:00'; {insert}; SET time_zone = '+00:00'"),
        Dialect::Sqlite => insert.to_owned(),
    };
    outbox.execute(&statements).await;
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let (_, claimed) = outbox.claim_all(&term, &channels).await;
    assert!((0..60_000).contains(&claimed[0].waited_ms));
    assert!(written_just_now(&claimed[0]));
}

/// The database and the test have one clock.
fn written_just_now(message: &Message) -> bool {
    let age = SystemTime::now().duration_since(message.created_at().unwrap());
    age.is_ok_and(|age| age < Duration::from_mins(1))
}

/// A destination is what is paused and limited, so it must not differ by spelling or between databases.
pub async fn a_destination_is_the_origin_of_a_url_or_else_the_channel(outbox: &Outbox) {
    for (target, destination) in [
        ("https://Api.Example.com/x?y", "https://api.example.com:443"),
        ("HTTP://example.com", "http://example.com:80"),
        ("http://u:p@h:81?x", "http://h:81"),
        ("http://u:1@h", "http://h:80"),
        ("http://a@b@c:5/@d", "http://c:5"),
        ("https://[::1]:99#f", "https://[::1]:99"),
        ("http://[::1]/", "http://[::1]:80"),
        ("/path", "http"),
        ("http://", "http"),
        ("ftp://example.com/", "http"),
        ("token:abc", "http"),
    ] {
        let id = outbox.insert(&[("target", &format!("'{target}'"))]).await;
        let row = outbox.strings(&["destination"], &format!("outbox WHERE id = {id}")).await.remove(0);
        assert_eq!(row[0].as_deref(), Some(destination), "{target}");
    }
}

/// The application hears of it at once, and nothing that the poller could trip over is kept.
pub async fn what_no_poller_could_read_is_refused_at_the_insert(outbox: &Outbox) {
    for wrong in [("status", "'LOST'"), ("priority", "4"), ("priority", "-1"), ("payload", "'{'")] {
        assert!(outbox.try_insert(&[wrong]).await.is_err(), "{wrong:?}");
    }
    outbox.insert(&[("idempotency_key", "'order-a'")]).await;
    assert!(outbox.try_insert(&[("idempotency_key", "'order-a'")]).await.is_err());
    outbox.insert(&[("idempotency_key", "'Order-A'")]).await;
    if outbox.dialect == Dialect::Sqlite {
        assert!(outbox.try_insert(&[("available_at", "'2026-01-01 00:00:00'")]).await.is_err());
    }
}
