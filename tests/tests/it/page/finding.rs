//! Finding messages by what a customer knows of them.

use super::{READS, Stage, TOKENS};
use crate::finding::some;
use crate::outboxes;

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
