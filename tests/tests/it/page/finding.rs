//! Finding messages by what a customer knows of them.

use super::{OPERATES, READS, Stage, TOKENS, words};
use crate::outboxes;
use crate::questions::finding::some;

#[tokio::test]
async fn the_list_finds_by_what_a_customer_knows_and_a_message_leads_there() {
    let [.., outbox] = outboxes::migrated().await;
    some(&outbox).await;
    // Not due for long: no attempt of the replica writes another error.
    let refused =
        "UPDATE outbox SET last_error = 'connection refused', available_at = 4102444800000 WHERE id IN (2, 6)";
    outbox.sql(refused).await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let ada = stage.person(READS).await;
    let message = ada.page("/messages/1").await;
    for link in ["/messages?tags=order%3D1", "/messages?tags=customer%3D7"] {
        assert!(message.contains(&format!("href=\"{link}\"")), "{message}");
    }
    let message = ada.page("/messages/4").await;
    let link = message.split("href=\"").find_map(|part| part.strip_prefix("/messages?tags=note")).unwrap();
    let link = format!("/messages?tags=note{}", link.split('"').next().unwrap());
    for (path, found) in [
        (link.as_str(), vec!["/messages/4"]),
        ("/messages?tags=order%3D1%2C+customer%3D7", vec!["/messages/1"]),
        ("/messages?key_prefix=order-1&tenant=shop", vec!["/messages/2"]),
        ("/messages?target=https%3A%2F%2Fshop.example%2Fother", vec!["/messages/5"]),
        ("/messages?error_contains=REFUSED", vec!["/messages/2", "/messages/6"]),
        ("/messages?error_contains=refused&tenant=shop", vec!["/messages/2"]),
    ] {
        let page = ada.page(path).await;
        let listed: Vec<_> =
            (1..=6).map(|id| format!("/messages/{id}")).filter(|link| page.contains(&format!("\"{link}\""))).collect();
        assert_eq!(listed, found, "{path}");
    }
    for (path, said) in [
        ("/messages?tags=order", "NAME=VALUE"),
        ("/dead-letters?tags=%2C", "it is empty"),
        ("/messages?tag=order%3D1", "unknown field <code>tag</code>"),
    ] {
        let refused = ada.look(path).await;
        assert!(refused.status == 400 && refused.text.contains(said), "{path}: {}", refused.text);
        assert!(!refused.text.contains("\"/messages/1\""), "{path}: {}", refused.text);
    }
}

#[tokio::test]
async fn a_status_is_chosen_above_the_list_and_the_rest_of_the_filter_stays() {
    let [.., outbox] = outboxes::migrated().await;
    some(&outbox).await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let (ada, reader) = (stage.person(OPERATES).await, stage.person(READS).await);
    let all = ada.page("/messages?channel=http&after=1000").await;
    for link in [
        "<a href=\"/messages?channel=http\" aria-current=\"true\">All</a>",
        "<a href=\"/messages?channel=http&amp;status=PENDING\">Pending</a>",
        "<a href=\"/messages?channel=http&amp;status=SUCCESS\">Delivered</a>",
        "<a href=\"/messages?channel=http&amp;status=DEAD\">Dead</a>",
    ] {
        assert!(all.contains(link), "{link}: {all}");
    }
    // Who may change something is told how; others have no use for it.
    let said = "Choose a status above, to change messages of it";
    assert!(words(&all).contains(said), "{all}");
    assert!(!words(&reader.page("/messages").await).contains(said));
    let pending = ada.page("/messages?status=pending&channel=http").await;
    assert!(pending.contains("aria-current=\"true\">Pending</a>"), "{pending}");
    assert!(!words(&pending).contains(said), "{pending}");
    assert!(pending.contains("<input type=\"hidden\" name=\"status\" value=\"PENDING\">"), "{pending}");
}

#[tokio::test]
async fn a_filter_suggests_the_channels_of_the_settings_and_the_tags_of_what_is_shown() {
    let [.., outbox] = outboxes::migrated().await;
    some(&outbox).await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let reader = stage.person(READS).await;
    for path in ["/messages", "/dead-letters", "/invalid-targets", "/ordering-keys"] {
        let page = reader.page(path).await;
        assert!(page.contains("<datalist id=\"channels\"><option value=\""), "{path}: {page}");
        assert!(page.contains("name=\"channel\" list=\"channels\""), "{path}: {page}");
    }
    let page = reader.page("/messages").await;
    assert!(page.contains("name=\"tags\" list=\"tags\""), "{page}");
    let tags = page.split("<datalist id=\"tags\">").nth(1).unwrap().split("</datalist>").next().unwrap();
    assert!(tags.contains("<option value=\"customer=7\">"), "{tags}");
}

#[tokio::test]
async fn filters_that_are_used_seldom_are_folded_up_unless_one_of_them_is_in_use() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let reader = stage.person(READS).await;
    for (path, is_open) in [
        ("/messages?channel=http", false),
        ("/messages?tenant=shop", true),
        ("/dead-letters", false),
        ("/dead-letters?status_code=503", true),
    ] {
        let page = reader.page(path).await;
        assert_eq!(page.contains("<details open><summary>More filters</summary>"), is_open, "{path}: {page}");
        assert!(page.contains("<summary>More filters</summary>"), "{path}: {page}");
        // An example is a hint below the field: in the field it was cut.
        assert!(page.contains("aria-describedby=\"hint-destination\""), "{path}: {page}");
    }
}

#[tokio::test]
async fn the_life_of_a_message_stands_above_the_question_why_it_was_sent_twice_which_is_folded_up_where_it_was_not() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let once = stage.message(&outbox, "/", &["--delay", "2h"]).await;
    let replay = "INSERT INTO outbox (channel, target, payload, available_at, replay_of) \
                  SELECT channel, target, payload, available_at, id FROM outbox";
    outbox.sql(replay).await;
    let reader = stage.person(READS).await;
    let page = reader.page(&format!("/messages/{once}")).await;
    assert!(page.contains("<details><summary>Why was it sent twice?</summary>"), "{page}");
    let (life, twice) = (page.find("<h2>Its life</h2>"), page.find("Why was it sent twice?"));
    assert!(life.is_some() && life < twice, "{page}");
    // That it is a replay is an answer.
    let page = reader.page(&format!("/messages/{}", once + 1)).await;
    assert!(page.contains("<h2>Why was it sent twice?</h2>"), "{page}");
}
