//! The whole story on real processes: a poller is killed while its request is open, and another one sends again.

use outbox_schema::NewMessage;
use outbox_tests::eventually;
use rustix::process::Signal;
use serde_json::Value;

use crate::outboxes;
use crate::program::{HTTP, PATIENCE, Program};
use crate::sink::Sink;

async fn explained(program: &Program) -> Value {
    program.run(&["messages", "explain", "order-1", "--json"]).await.json()
}

fn causes(of: &Value) -> Vec<&str> {
    of.as_array().unwrap().iter().map(|cause| cause["cause"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_whose_poller_was_killed_says_who_had_it_and_who_sent_it_again() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let quick = "timeout = \"5s\"\n[lease]\nttl = \"3s\"\nterm = \"1h\"\n";
        let program = Program::new(&outbox.test.url, &format!("{HTTP}{quick}"));
        let target = sink.url("/hangs-once");
        outbox.enqueue(&[NewMessage::http(&target).idempotency_key("order-1")]).await;
        let first = program.start();
        eventually("the request is open", PATIENCE, async || (sink.requests().len() == 1).then_some(())).await;
        let explanation = explained(&program).await;
        assert_eq!(causes(&explanation["not_sent"]), ["in_flight"]);
        let holder = explanation["not_sent"][0]["holder"].as_str().unwrap().to_owned();
        first.stop(Signal::KILL).await;

        let second = program.start();
        let settling = async || {
            let explanation = explained(&program).await;
            (causes(&explanation["not_sent"])[0] != "in_flight").then_some(explanation)
        };
        let explanation = eventually("another one has taken over", PATIENCE, settling).await;
        let first_cause = causes(&explanation["not_sent"])[0];
        assert!(["being_settled", "suspect", "delivered"].contains(&first_cause), "{explanation:#}");

        let delivered = async || {
            let explanation = explained(&program).await;
            (causes(&explanation["not_sent"]) == ["delivered"]).then_some(explanation)
        };
        let explanation = eventually("it is delivered", PATIENCE, delivered).await;
        assert_eq!(sink.keys()["order-1"], 2);
        let again = &explanation["sent_twice"];
        assert_eq!(
            (causes(&again["causes"]), &again["verdict"]),
            (vec!["killed", "accepted"], &"perhaps_twice".into())
        );
        let [killed, accepted] = &again["causes"].as_array().unwrap()[..] else { panic!("{again:#}") };
        assert_eq!((&killed["epoch"], &killed["holder"]), (&1.into(), &holder.as_str().into()));
        assert_eq!((&accepted["epoch_then"], &accepted["idempotency_key"]), (&2.into(), &"order-1".into()));
        assert_ne!(accepted["holder_then"], killed["holder"]);
        let named = |cause: &Value| format!(" {} ({})", cause["instance"].as_str().unwrap(), holder);
        assert!(killed["sentence"].as_str().unwrap().contains(&named(killed)), "{again:#}");
        assert_eq!(accepted["instance_then"], killed["instance"], "one machine, so one name");
        let life = program.run(&["messages", "show", "order-1"]).await.done();
        assert!(life.contains(&format!("by{}, epoch 1, and in doubt", named(killed))), "{life}");
        let places = ["enqueued", "epoch 1, and in doubt", "delivered: attempt 2 accepted", "It was sent: accepted"];
        let places = places.map(|event| life.find(event).unwrap_or_else(|| panic!("{event}: {life}")));
        assert!(places.is_sorted(), "{life}");
        second.stop(Signal::TERM).await;
    }
}
