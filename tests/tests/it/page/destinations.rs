//! What the pages say of destinations.

use std::collections::HashSet;

use outbox_desk::{Author, ByHand as _};
use outbox_schema::NewMessage;
use outbox_tests::eventually;

use super::{OPERATES, READS, Stage, TOKENS, words};
use crate::outboxes;
use crate::program::PATIENCE;

#[tokio::test]
async fn a_destination_has_a_page_with_what_waits_for_it_and_what_its_poller_knows() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let (ada, reader) = (stage.person(OPERATES).await, stage.person(READS).await);
        let target = stage.sink.url("/hangs-once");
        let destination = target.trim_end_matches("/hangs-once");
        stage.message(&outbox, "/hangs-once", &[]).await;
        let page = format!("/destinations?destination={destination}");
        let says = async |path: &str, said: &[&str]| {
            let holds = async || {
                let shown = words(&reader.page(path).await);
                said.iter().all(|said| shown.contains(said)).then_some(())
            };
            eventually(&format!("{path} says {said:?}"), PATIENCE, holds).await;
        };
        // A message that waits for its answer is in flight, and due in the database.
        says(&page, &["Statetakes messages", "In flight1", "Rateno limit", "messages may be in flight", "Due1"]).await;
        says("/destinations?all=true", &[destination, "1 of 2", "no limit", "Pauses in a row"]).await;
        says("/", &["In flight1"]).await;
        let of_channel = async || {
            let overview = reader.page("/").await;
            let (_, row) = overview.split_once("<a href=\"/messages?channel=http\">http</a>")?;
            row.split("<td class=\"number\">").nth(2)?.starts_with("1<").then_some(())
        };
        eventually("the overview says what its channel has in flight", PATIENCE, of_channel).await;

        let pause = [("destination", destination), ("for", "2h"), ("why", "they move"), ("by", "ada")];
        assert_eq!(ada.send(&page, "/destinations/pause", &pause).await.status, 303);
        says(&page, &["Statepaused", "Byada (page)", "Whythey move", "For its polleris paused"]).await;
        for _ in 0..3 {
            stage.message(&outbox, "/", &[]).await;
        }
        let backlog = async || {
            let api = format!("/api/v1/destinations?destination={destination}");
            let asked = reader.ask(|client, url| client.get(format!("{url}{api}")).bearer_auth(READS)).await;
            let answer: serde_json::Value = serde_json::from_str(&asked.text).unwrap();
            let one = &answer[0];
            let waits = one["due"].as_i64().unwrap() + one["waiting"].as_i64().unwrap();
            assert_eq!(one["due_more"], false, "{one}");
            (waits >= 3 && one["oldest_ms"].is_i64()).then_some(())
        };
        eventually("what waits is counted", PATIENCE, backlog).await;
        let held = words(&reader.page("/destinations").await);
        assert!(held.contains(destination) && held.contains("they move") && held.contains("in 1 h 59 min"), "{held}");

        // Nothing is kept of this one.
        says("/destinations?destination=https://nobody.example/x", &["https://nobody.example:443", "takes messages"])
            .await;
        let wrong = reader.look("/destinations?destination=http&all=true").await;
        assert!(wrong.status == 400 && wrong.text.contains("unknown field"), "{}", wrong.text);
    }
}

#[tokio::test]
async fn what_is_due_is_counted_as_far_as_it_is_looked_at() {
    for outbox in outboxes::each().await {
        let busy = |n: u32| NewMessage::http("https://busy.example/").idempotency_key(format!("busy-{n}"));
        let keyed = |n: u32| {
            NewMessage::http("https://keyed.example/").idempotency_key(format!("keyed-{n}")).ordering_key("key")
        };
        let messages: Vec<_> = (0..3_000).flat_map(|n| [busy(n), keyed(n)]).collect();
        outbox.enqueue(&messages).await;
        let one = async |name: &str| outbox_desk::destination(&outbox.database, name).await.unwrap();
        let (busy, keyed) = (one("https://busy.example:443").await, one("https://keyed.example:443").await);
        assert_eq!((busy.due, busy.due_more, keyed.due), (2_500, true, 2_500), "{busy:?}");
        assert!(busy.oldest_ms.is_some_and(|age| age < 3_600_000), "{busy:?}");
        assert_eq!(one("http").await.due, 5_000, "a channel has what all its destinations have");
        assert_eq!(one("https://idle.example:443").await.due, 0);
    }
}

/// Whoever writes rows can name any number of hosts that ask to be left alone.
#[tokio::test]
async fn a_page_lists_a_hundred_destinations_those_first_that_a_person_paused_and_the_next_one_the_others() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        outbox.database.pause("https://z.example:443", None, &Author::default()).await.unwrap();
        outbox.hosts_that_asked_for_a_pause(120).await;
        let reader = stage.person(READS).await;
        let mut listed = HashSet::new();
        for (path, count) in [("/destinations", 100), ("/destinations?after=100", 21)] {
            let page = reader.page(path).await;
            let shown = words(&page);
            assert_eq!(page.matches("<tr").count(), 1 + count, "{shown}");
            assert!(shown.contains("121 in all"), "{shown}");
            assert_eq!(page.contains("href=\"/destinations?after=100\""), count == 100, "{page}");
            assert_eq!(shown.contains("https://z.example:443"), count == 100, "{shown}");
            let names = page.split("/destinations?destination=").skip(1);
            listed.extend(names.filter_map(|rest| rest.split('"').next().map(str::to_owned)));
        }
        assert_eq!(listed.len(), 121);
        let wrong = reader.look("/destinations?after=last").await;
        assert!(wrong.status == 400 && wrong.text.contains("after"), "{}", wrong.text);
    }
}
