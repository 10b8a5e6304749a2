//! The traces of the model on real databases: with its guard in place, the fatal step is refused by the real statement.

mod parking;
mod replicas;

use std::time::Duration;

use outbox_model::traces::{self, Trace};
use outbox_schema::MessageId;
use outbox_store::{Epoch, Holder, Shard, TermId, Verdict};
use outbox_tests::conformance::store::{Ask, Dialect, Outbox, http, mark, on_every_database};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use self::replicas::{Replicas, Said};

/// Takes all steps, whatever is said to them, and compares what was said to those that did not just go on; the others
/// are numbered by their place in the trace.
async fn assert_refused(trace: &Trace, outbox: &Outbox, refused: &[(usize, Said)]) -> Vec<MessageId> {
    let mut replicas = Replicas::of(outbox, &trace.protocol).await;
    let mut said = Vec::new();
    for (place, step) in trace.steps.iter().enumerate() {
        let answer = replicas.take(*step).await;
        if answer != Said::Done {
            said.push((place, answer));
        }
    }
    // One writer at a time: nothing can come between the statements of an SQLite claim, so nothing waits for it.
    let waits = outbox.dialect != Dialect::Sqlite;
    let expected: Vec<_> = refused.iter().copied().filter(|(_, said)| waits || *said != Said::Waits).collect();
    assert_eq!(said, expected);
    let epochs: Vec<_> = replicas.terms.iter().map(|term| term.epoch).collect();
    assert!(epochs.is_sorted_by(|a, b| a < b), "{epochs:?}");
    replicas.messages.to_vec()
}

#[tokio::test]
async fn a_lease_store_that_forgot_everything_gives_nobody_an_epoch_twice() {
    on_every_database(async |outbox| drop(assert_refused(&traces::EPOCH_FROM_DATABASE, outbox, &[]).await)).await;
}

/// The mint waits for the claim, finds it, and so the row is left out.
#[tokio::test]
async fn a_term_begins_only_when_the_claims_of_the_last_have_committed() {
    let refused = [(3, Said::Waits), (6, Said::LeftOut), (7, Said::LeftOut), (9, Said::NotClaimed)];
    on_every_database(async |outbox| drop(assert_refused(&traces::CLAIM_LOCKS_TERM_ROW, outbox, &refused).await)).await;
}

#[tokio::test]
async fn a_mark_whose_answer_was_lost_counts_its_attempt_once() {
    on_every_database(async |outbox| {
        let messages = assert_refused(&traces::MARK_COMPARES_REVISION, outbox, &[]).await;
        let row = outbox.message(messages[0]).await;
        assert_eq!((row.revision, row.attempts), (1, 1));
    })
    .await;
}

/// What is handed out to be sent can be seen by all others: the replicas look at each gate.
#[tokio::test]
async fn a_claim_gives_nothing_to_send_before_it_has_committed() {
    on_every_database(async |outbox| drop(assert_refused(&traces::CLAIM_BEFORE_SEND, outbox, &[]).await)).await;
}

#[tokio::test]
async fn nothing_is_settled_before_its_time_nor_claimed_before_it_is_settled() {
    let refused = [(6, Said::NotYet), (8, Said::LeftOut), (9, Said::LeftOut), (10, Said::NotClaimed)];
    on_every_database(async |outbox| drop(assert_refused(&traces::SETTLING_TIME, outbox, &refused).await)).await;
}

#[tokio::test]
async fn a_row_that_was_delivered_is_not_claimed_again_before_it_is_marked() {
    let refused = [(7, Said::LeftOut), (8, Said::LeftOut), (9, Said::NotClaimed)];
    on_every_database(async |outbox| drop(assert_refused(&traces::IN_FLIGHT_UNTIL_MARKED, outbox, &refused).await))
        .await;
}

#[tokio::test]
async fn a_row_that_was_edited_after_the_look_is_not_claimed() {
    let refused = [(3, Said::LeftOut), (4, Said::LeftOut), (5, Said::NotClaimed)];
    on_every_database(async |outbox| drop(assert_refused(&traces::CLAIM_COMPARES_REVISION, outbox, &refused).await))
        .await;
}

#[tokio::test]
async fn a_process_that_is_elected_again_has_no_slot_for_more_than_it_had() {
    let refused = [(7, Said::NoRoom), (8, Said::LeftOut)];
    on_every_database(async |outbox| drop(assert_refused(&traces::SLOTS_OF_PROCESS, outbox, &refused).await)).await;
}

#[tokio::test]
async fn what_an_earlier_term_claimed_is_left_out_of_the_claims_of_the_next() {
    let refused = [(6, Said::LeftOut), (7, Said::LeftOut), (9, Said::NotClaimed)];
    on_every_database(async |outbox| drop(assert_refused(&traces::UNSETTLED_LEFT_OUT, outbox, &refused).await)).await;
}

/// The replay has teeth: this is how a claim fares that only reads the term row.
#[tokio::test]
async fn a_claim_that_locked_nothing_would_be_made_behind_the_back_of_the_next_term() {
    let outbox = Outbox::fresh(Dialect::Postgres).await;
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let message = outbox.insert(&[]).await;

    let mut claimer = PgConnection::connect(outbox.url()).await.unwrap();
    let TermId { epoch, holder, .. } = &term;
    let claim = format!(
        "BEGIN;
         INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms,
                                   settling_closed_ms)
         SELECT gen_random_uuid(), shard, epoch, holder, ARRAY[{message}], ARRAY[0], clock_timestamp(), 600000, 600000
         FROM outbox_term WHERE epoch = {epoch} AND holder = '{holder}'"
    );
    claimer.execute(sqlx::raw_sql(AssertSqlSafe(claim))).await.unwrap();
    let next = Holder::new("test", "next");
    let minting = outbox.store.begin_term(Shard(0), &next, Epoch(0));
    let opened = tokio::time::timeout(Duration::from_secs(10), minting).await.unwrap().unwrap();
    assert!(opened.unsettled.is_empty(), "the claim was found after all");
    claimer.execute("COMMIT").await.unwrap();

    let next = TermId { shard: Shard(0), epoch: opened.epoch, holder: next };
    let ask = Ask { excluded: &opened.unsettled, ..Ask::of(&channels) };
    assert_eq!(outbox.claim(&next, &ask).await.len(), 1);
    let naming = format!("outbox_claim WHERE message_ids = ARRAY[{message}::bigint] AND revisions = ARRAY[0]");
    assert_eq!(outbox.count(&naming).await, 2, "both terms may send it now");
}

/// And this is how a repeated mark fares that asks for the id alone.
#[tokio::test]
async fn a_mark_that_compared_no_revision_would_count_an_attempt_twice() {
    let outbox = Outbox::fresh(Dialect::Postgres).await;
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let (message, _neighbour) = (outbox.insert(&[]).await, outbox.insert(&[]).await);
    let (claim, claimed) = outbox.claim_all(&term, &channels).await;
    let row = claimed.iter().find(|row| row.id() == message).unwrap();
    let retry = mark(&term, claim, row, Verdict::Retry { after: Duration::ZERO }, "retry");
    outbox.store.mark(std::slice::from_ref(&retry), &[]).await.unwrap();

    let definition =
        outbox.strings(&["pg_get_functiondef('outbox_mark_free'::regproc)"], "generate_series(1, 1)").await;
    let definition = definition[0][0].clone().unwrap();
    let compares = "o.revision = m.revision AND ";
    assert!(definition.contains(compares));
    outbox.execute(&definition.replace(compares, "")).await;
    outbox.store.mark(&[retry], &[]).await.unwrap();
    assert_eq!(outbox.message(message).await.attempts, 2, "sent once, counted twice");
}
