//! Outcomes that are told: the message and the one that tells of it name each other.

use outbox_console::explain::OutcomeNotice;
use outbox_schema::MessageId;
use outbox_store::{DeadReason, Mark, OutcomeTarget, TargetTemplate, Verdict};
use outbox_tests::conformance::store::{Outbox, mark, on_every_database};

use super::{Leader, explained, insert};

/// Ends the one message that is due, as a channel with `on_dead` and `on_success` does. Gives the message that tells of that.
async fn end(leader: &Leader<'_>, verdict: Verdict, outcome: &'static str) -> MessageId {
    let (claim, message) = leader.claim_one().await;
    let target = TargetTemplate::parse("/outcomes").unwrap();
    let told = Some(OutcomeTarget { channel: "ops".to_owned(), target });
    let mark = Mark { told, ..mark(&leader.term, claim, &message, verdict, outcome) };
    assert_eq!(leader.write(mark).await, []);
    newest(leader.outbox).await
}

async fn newest(outbox: &Outbox) -> MessageId {
    let id = outbox.strings(&["id"], "outbox WHERE channel = 'ops' ORDER BY id DESC LIMIT 1").await.remove(0).remove(0);
    MessageId(id.unwrap().parse().unwrap())
}

/// The outcomes of an explanation, and their sentences, in which the times are left out.
async fn outcomes(outbox: &Outbox, id: MessageId) -> (Vec<OutcomeNotice>, Vec<String>) {
    let said = explained(outbox, id).await.outcomes;
    let sentences = said.iter().map(|said| match &said.cause {
        OutcomeNotice::ToldBy { at, .. } => said.sentence.replace(&format!(" of {}Z", &at[..19]), ""),
        OutcomeNotice::TellsOf { .. } => said.sentence.clone(),
    });
    (said.iter().map(|said| said.cause.clone()).collect(), sentences.collect())
}

#[tokio::test]
async fn a_message_and_the_messages_that_tell_of_its_outcomes_name_each_other() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        assert_eq!(outcomes(outbox, id).await, (vec![], vec![]));
        let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
        let first = end(&leader, dead, "dead").await;
        let (told, sentences) = outcomes(outbox, id).await;
        assert!(
            matches!(&told[..], [OutcomeNotice::ToldBy { message, channel, status, .. }]
                if (*message, channel.as_str(), status.as_str()) == (first, "ops", "PENDING")),
            "{told:?}"
        );
        assert_eq!(sentences, [format!("Its outcome is told by message {first} of channel ops, which waits.")]);
        let tells = |words: &str| vec![format!("It tells of an outcome of message {id}, which {words}.")];
        assert_eq!(outcomes(outbox, first).await.1, tells("is a dead letter"));

        // It is sent again, and delivered. Of that there is an outcome too, and the first is delivered meanwhile.
        outbox
            .execute(&format!("UPDATE outbox SET status = 'SUCCESS', revision = revision + 1 WHERE id = {first}"))
            .await;
        outbox.execute(&format!("UPDATE outbox SET status = 'PENDING', revision = revision + 1 WHERE id = {id}")).await;
        let second = end(&leader, Verdict::Success { receipt: None }, "delivered").await;
        let told = [(first, "was delivered"), (second, "waits")]
            .map(|(message, now)| format!("Its outcome is told by message {message} of channel ops, which {now}."));
        assert_eq!(outcomes(outbox, id).await.1, told);
        assert_eq!(outcomes(outbox, second).await.1, tells("was delivered"));

        outbox.execute(&format!("DELETE FROM outbox WHERE id = {id}")).await;
        assert_eq!(outcomes(outbox, second).await.1, tells("is no longer there"));
    })
    .await;
}

/// The key of an outcome of another message begins as that of the first does.
#[tokio::test]
async fn a_message_names_no_outcome_of_another_one() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        let mine = end(&leader, Verdict::Success { receipt: None }, "delivered").await;
        let other = MessageId(id.0 * 10 + 1);
        outbox
            .execute(&format!("UPDATE outbox SET status = 'SUCCESS', revision = revision + 1 WHERE id = {mine}"))
            .await;
        insert(outbox, &[("id", &other.to_string())]).await;
        let others = end(&leader, Verdict::Success { receipt: None }, "delivered").await;
        let named = async |id| match &outcomes(outbox, id).await.0[..] {
            [OutcomeNotice::ToldBy { message, .. }] => *message,
            others => panic!("{others:?}"),
        };
        assert_eq!((named(id).await, named(other).await), (mine, others));
    })
    .await;
}
