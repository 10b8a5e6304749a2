//! What is claimed of what looks at due rows have shown.

use std::collections::HashMap;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::store::due::{ClaimTerms, Lane, LookAndClaim, RowsToClaim};
use outbox_store::{ChannelTerms, ClaimId, DeadReason, Revision, Shard, StoreError, TermId, Verdict, WalkStart};
use sqlx::{AssertSqlSafe, Connection as _};

use super::claiming::{claim, held};
use super::due::{SHARD, all_due, all_keys, behind, shown, write};
use super::{Ask, Dialect, Outbox, delivered, http, ids, mark, once, seen, terms};
use crate::eventually;

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
    outbox.insert(&[("payload", &format!("'\"{}\"'", "x".repeat(300)))]).await;
    outbox.insert(&[("headers", &format!("'{{\"x-y\": \"{}\"}}'", random_text(300)))]).await;
    outbox.insert(&[("target", &format!("'https://shop.example/{}'", "x".repeat(300)))]).await;
    outbox.insert(&[]).await;
    let headers = all_due(outbox).await;
    let claimed = claim(outbox, &term, &channels, &headers).await;
    assert_eq!(ids(&claimed), shown(&headers));
    for message in &claimed[..3] {
        assert!(message.too_large && message.bytes > 300, "{message:?}: {} bytes", message.bytes);
        assert!(message.payload.is_empty() && message.headers.is_none());
    }
    assert!(!claimed[3].too_large && claimed[3].payload == "{}");
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
pub(super) fn idle<'a>(terms: &'a ClaimTerms<'a>) -> LookAndClaim<'a> {
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
    let ask = LookAndClaim { known: &ids_known, not_of: &not_of, ..idle(&terms) };
    assert_eq!(ids(&outbox.due().look_and_claim(&term, &ask).await.unwrap().messages), expected[..3]);
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

/// A text that no database can compress.
fn random_text(length: usize) -> String {
    (0..length).map(|_| char::from(rand::random_range(b'a'..=b'z'))).collect()
}

/// Byte for byte; times as the database's clock sees them.
pub async fn a_claimed_row_carries_what_its_application_wrote(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let expires = outbox.moment(120_000);
    let begun = outbox.moment(-30_000);
    let id = outbox
        .insert(&[
            ("idempotency_key", "'order-1'"),
            ("target", "'https://example.com/hook'"),
            ("payload", "'{\"text\": \"grüße 😀\"}'"),
            ("headers", "'{\"x-a\": \"b\"}'"),
            ("attempts", "2"),
            ("max_attempts", "-5"),
            ("revision", "9"),
            ("expires_at", &expires),
            ("created_at", &begun),
            ("first_attempt_at", &begun),
            ("traceparent", "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'"),
            ("tracestate", "'vendor=1'"),
        ])
        .await;
    let message = outbox.claim_all(&term, &channels).await.1.remove(0);
    assert_eq!((message.id(), message.revision().0), (id, 9));
    assert_eq!(message.idempotency_key, "order-1");
    assert_eq!(message.channel, "http");
    assert_eq!(message.target, "https://example.com/hook");
    assert_eq!(message.destination, "https://example.com:443");
    assert_eq!(message.payload, "{\"text\": \"grüße 😀\"}");
    assert_eq!(message.headers.as_deref(), Some("{\"x-a\": \"b\"}"));
    assert_eq!((message.attempts, message.max_attempts), (2, Some(-5)));
    assert!((110_000..=120_000).contains(&message.expires_in_ms.unwrap()), "{message:?}");
    assert!((30_000..40_000).contains(&message.retrying_for_ms.unwrap()), "{message:?}");
    assert!((30_000..40_000).contains(&message.waited_ms), "{message:?}");
    assert_eq!(message.traceparent.as_deref(), Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    assert_eq!(message.tracestate.as_deref(), Some("vendor=1"));
}

/// A caller that gives up in the middle leaves no transaction behind that would hold up the next term.
pub async fn a_cancelled_claim_leaves_no_lock_behind(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox.insert(&[]).await;
    let headers = all_due(outbox).await;
    for patience in (0..4_000).step_by(200) {
        let claim = claim(outbox, &term, &channels, &headers);
        let _ = tokio::time::timeout(Duration::from_micros(patience), claim).await;
    }
    tokio::time::timeout(Duration::from_secs(4), outbox.term(&channels)).await.unwrap();
}

/// PostgreSQL: from 2 kB on it would compress the ids of a batch, which took a quarter of the time of a claim. Beside the row
/// are only those of more than the default of slots.
pub async fn the_ids_of_a_large_claim_are_not_compressed(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox
        .execute(
            "INSERT INTO outbox (channel, target, payload) SELECT 'http', '/a', '{}' FROM generate_series(1, 1000)",
        )
        .await;
    let beside = "pg_relation_size((SELECT reltoastrelid FROM pg_class WHERE oid = 'outbox_claim'::regclass)) > 0";
    for (rows, kept_beside) in [(512, false), (1000, true)] {
        let ask = Ask { limit: rows, ..Ask::of(&channels) };
        assert_eq!(outbox.claim(&term, &ask).await.len(), rows as usize);
        let whole = format!("pg_column_size(message_ids) >= 8 * {rows} AND pg_column_size(revisions) >= 4 * {rows}");
        let this = format!("outbox_claim WHERE id = '{}'", ask.claim.0);
        let stored = outbox.strings(&[&whole, beside], &this).await.remove(0);
        assert_eq!(stored, ["true".to_owned(), kept_beside.to_string()].map(Some), "{rows} rows");
    }
}

/// As after a restart: PostgreSQL's store keeps one connection for its claims.
pub async fn a_claim_outlasts_the_connection_of_the_last_one(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    assert!(outbox.claim_all(&term, &channels).await.1.is_empty());
    let id = outbox.insert(&[]).await;
    // Not through the outbox's own pool: it may hand out one of those that are closed here.
    let mut connection = sqlx::PgConnection::connect(outbox.url()).await.unwrap();
    let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let closed = format!("SELECT coalesce(bool_and(pg_terminate_backend(pid)), false) {others}");
    assert!(sqlx::query_scalar::<_, bool>(AssertSqlSafe(closed)).fetch_one(&mut connection).await.unwrap());
    connection.close().await.unwrap();
    // PostgreSQL 13 does not wait for their ends.
    let url = outbox.url();
    eventually("their ends", Duration::from_secs(10), async || {
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        let left = AssertSqlSafe(format!("SELECT count(*) {others} AND backend_type = 'client backend'"));
        let left: i64 = sqlx::query_scalar(left).fetch_one(&mut connection).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
    assert_eq!(ids(&outbox.claim_all(&term, &channels).await.1), [id.0]);
}
