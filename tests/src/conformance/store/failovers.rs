//! What a poller writes again after a failover, and lists.

use std::time::{Duration, Instant};

use outbox_schema::MessageId;
use outbox_store::store::failover::{FailoverEntry, Found, LostMessage, PastClaim, PastRow, awaited, restore, tell};
use outbox_store::{ClaimId, Epoch, Holder, Message, Revision, Shard, TermId};
use uuid::Uuid;

use super::{Dialect, Outbox, delivered, http};

/// A claim as its poller remembers it.
fn past(term: &TermId, claim: ClaimId, messages: &[Message]) -> PastClaim {
    let row = |message: &Message| PastRow {
        id: message.id(),
        revision: message.revision(),
        key: message.idempotency_key.clone(),
    };
    PastClaim {
        claim,
        epoch: term.epoch,
        holder: term.holder.clone(),
        made: Instant::now(),
        settling: Duration::from_mins(1),
        settling_closed: Duration::from_secs(30),
        at_most_once: vec!["http".to_owned()],
        rows: messages.iter().map(row).collect(),
    }
}

/// Three messages that were claimed, in a database that another one has taken the place of.
async fn claimed(outbox: &Outbox) -> (TermId, ClaimId, Vec<Message>) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    for _ in 0..3 {
        outbox.insert(&[]).await;
    }
    let (claim, messages) = outbox.claim_all(&term, &channels).await;
    outbox.execute("UPDATE outbox_term_log SET served_by = 'the one before'").await;
    (term, claim, messages)
}

async fn found(outbox: &Outbox, claim: &PastClaim) -> Vec<Found> {
    restore(outbox.database(), Shard(0), std::slice::from_ref(claim)).await.unwrap().remove(0)
}

/// The poller that lives knows more than the database.
pub async fn a_claim_that_a_failover_lost_is_made_again_and_its_marks_count(outbox: &Outbox) {
    let (term, claim, messages) = claimed(outbox).await;
    let past = past(&term, claim, &messages);
    let columns = ["epoch", "holder", "message_ids", "revisions", "settling_ms", "settling_closed_ms", "at_most_once"];
    let made = outbox.strings(&columns, "outbox_claim").await;
    outbox.execute("DELETE FROM outbox_claim").await;
    for _ in 0..2 {
        assert_eq!(found(outbox, &past).await, [Found::AsClaimed; 3]);
    }
    let again = outbox.strings(&columns, "outbox_claim").await;
    assert_eq!(again[0][..4], made[0][..4]);
    assert_eq!((again[0][4].as_deref(), again[0][5].as_deref()), (Some("60000"), Some("30000")));
    assert_eq!(outbox.count("outbox_claim WHERE gate_closed_at IS NOT NULL AND superseded_at IS NOT NULL").await, 1);

    let report = outbox.store.mark(&[delivered(&term, claim, &messages[0])], &[]).await.unwrap();
    assert_eq!((report.fenced, outbox.message(messages[0].id()).await.status.as_str()), (vec![], "SUCCESS"));
    assert_eq!(found(outbox, &past).await, [Found::MovedOn, Found::AsClaimed, Found::AsClaimed]);
    // The next term finds the others, and sends none of them before their settling time.
    let channels = [http()];
    let next = outbox.term(&channels).await;
    assert_eq!(outbox.claim_all(&next, &channels).await.1.len(), 2, "the poller leaves them out, not its claim");
    outbox.age_claims(Duration::from_mins(2)).await;
    let settled = outbox.store.settle(&next, &channels, &[]).await.unwrap();
    assert_eq!((settled.decided.len(), settled.decided.iter().any(|row| row.crashed)), (2, false));
}

/// No term that begins would supersede it: the term row says an earlier one.
pub async fn the_claim_of_a_term_that_a_failover_lost_is_left_out_by_the_next(outbox: &Outbox) {
    let (term, claim, messages) = claimed(outbox).await;
    outbox.execute("DELETE FROM outbox_claim").await;
    let lost = PastClaim { epoch: Epoch(term.epoch.0 + 1), ..past(&term, claim, &messages) };
    assert_eq!(found(outbox, &lost).await, [Found::AsClaimed; 3]);
    let opened = outbox.store.begin_term(Shard(0), &Holder::new("next", "1"), lost.epoch).await.unwrap();
    let ids: Vec<_> = messages.iter().map(Message::id).collect();
    assert_eq!((opened.epoch, opened.unsettled), (Epoch(lost.epoch.0 + 1), ids));
}

/// No row is in two claims at one revision.
pub async fn a_row_that_another_claim_has_is_not_claimed_again(outbox: &Outbox) {
    let (term, claim, messages) = claimed(outbox).await;
    let other = PastClaim { claim: ClaimId::mint(), ..past(&term, claim, &messages) };
    assert_eq!(found(outbox, &other).await, [Found::AsClaimed; 3]);
    assert_eq!(outbox.count("outbox_claim").await, 1);
}

/// That term's poller may have claimed the rows.
pub async fn no_claim_is_made_again_once_a_term_has_begun_since_the_failover(outbox: &Outbox) {
    let (term, claim, messages) = claimed(outbox).await;
    outbox.execute("DELETE FROM outbox_claim").await;
    outbox.term(&[http()]).await;
    assert_eq!(found(outbox, &past(&term, claim, &messages)).await, [Found::AsClaimed; 3]);
    // A file has no failovers.
    let made = i64::from(outbox.dialect == Dialect::Sqlite);
    assert_eq!(outbox.count("outbox_claim").await, made);
    let report = outbox.store.mark(&[delivered(&term, claim, &messages[0])], &[]).await.unwrap();
    let recorded = outbox.attempts(messages[0].id()).await;
    if outbox.dialect != Dialect::Sqlite {
        assert_eq!((report.fenced, recorded[0].outcome.as_str()), (vec![messages[0].id()], "delivered_fenced"));
    }
}

/// Ids come twice where inserts were lost.
pub async fn a_row_that_is_gone_or_is_another_messages_is_told_from_one_that_moved_on(outbox: &Outbox) {
    let (term, claim, messages) = claimed(outbox).await;
    outbox.execute("DELETE FROM outbox_claim").await;
    let [gone, strange, marked] = &messages[..] else { unreachable!("{messages:?}") };
    outbox.execute(&format!("DELETE FROM outbox WHERE id = {}", gone.id)).await;
    outbox.execute(&format!("UPDATE outbox SET idempotency_key = 'strange' WHERE id = {}", strange.id)).await;
    let mut past = past(&term, claim, &messages);
    // Its first mark is lost, and this is its second claim.
    past.rows[2].revision = Revision(marked.revision + 1);
    assert_eq!(found(outbox, &past).await, [Found::Gone, Found::Gone, Found::Behind]);
    assert_eq!(outbox.count("outbox_claim").await, 0);
}

/// The answer to the first call may be lost.
pub async fn what_a_failover_lost_is_listed_once_and_under_no_message(outbox: &Outbox) {
    let lost = LostMessage {
        idempotency_key: "order-4711 \"é\"".to_owned(),
        channel: "http".to_owned(),
        target: "https://shop.example/hook".to_owned(),
        id: MessageId(7),
        sent_ms_ago: 2_500,
        outcome: "delivered",
        status_code: Some(204),
    };
    let entry = FailoverEntry { entry: Uuid::new_v4(), change: "from a to b", who: "r1", marked_again: 3, lost: 2 };
    for _ in 0..2 {
        tell(outbox.database(), &entry, &[lost.clone(), LostMessage { status_code: None, ..lost.clone() }])
            .await
            .unwrap();
    }
    let rows = outbox.strings(&["part_of", "action", "who", "why", "message_id"], "outbox_audit ORDER BY id").await;
    let said =
        |row: &[Option<String>]| row[1..].iter().map(|text| text.clone().unwrap_or_default()).collect::<Vec<_>>();
    assert_eq!(rows.len(), 3);
    assert_eq!(said(&rows[0]), ["failover", "r1", "from a to b", ""]);
    assert!(rows[1..].iter().all(|row| row[0].is_some() && said(row) == ["failover", "r1", "", ""]));
    let details = outbox.strings(&["details"], "outbox_audit ORDER BY id").await;
    let details: Vec<serde_json::Value> =
        details.iter().map(|row| serde_json::from_str(row[0].as_ref().unwrap()).unwrap()).collect();
    assert_eq!((&details[0]["marked_again"], &details[0]["lost"]), (&3.into(), &2.into()));
    assert_eq!(details[1]["idempotency_key"], "order-4711 \"é\"");
    assert!(details[1]["sent_at"].as_str().unwrap().starts_with("20") && details[1].get("sent_ms_ago").is_none());
    assert_eq!((&details[1]["status_code"], &details[2]["status_code"]), (&204.into(), &serde_json::Value::Null));
}

/// Two polled of late and live: each waits until the other has written what it knows.
pub async fn who_polled_lately_is_awaited_until_it_has_told(outbox: &Outbox) {
    const CHANGE: &str = "from a to b";
    for replica in ["long-ago", "dead", "r2", "r1"] {
        let holder = Holder::new(replica, "1");
        outbox.store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
        if replica != "dead" {
            let (columns, now) = ("id, name, version, schema_version, started_at, seen_at", outbox.moment(0));
            let values = format!("'{replica}', 'a', '1', 1, {now}, {now}");
            outbox.execute(&format!("INSERT INTO outbox_replica ({columns}) VALUES ({values})")).await;
        }
        if replica == "long-ago" {
            outbox.term(&[http()]).await;
            let past = outbox.moment(-60_000);
            outbox.execute(&format!("UPDATE outbox_term_log SET started_at = {past}, ended_at = {past}")).await;
        }
    }
    let awaited = async |by| awaited(outbox.database(), Shard(0), by, CHANGE).await.unwrap();
    assert_eq!((awaited("r1").await, awaited("r2").await), (vec!["r2".to_owned()], vec!["r1".to_owned()]));
    let entry = FailoverEntry { entry: Uuid::new_v4(), change: CHANGE, who: "r2", marked_again: 0, lost: 0 };
    tell(outbox.database(), &entry, &[]).await.unwrap();
    assert_eq!((awaited("r1").await, awaited("r2").await), (vec![], vec!["r1".to_owned()]));
}
