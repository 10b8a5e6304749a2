//! The list of recurring messages.

use super::{OPERATES, Stage, TOKENS, words};
use crate::outboxes;
use crate::recurring::{TODO, known, written};

#[tokio::test]
async fn the_page_lists_what_recurs_and_pauses_and_fires_it() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, &format!("{TOKENS}{TODO}")).await;
        known(&outbox, "todo").await;
        let ada = stage.person(OPERATES).await;
        let list = words(&ada.page("/recurring").await);
        assert!(list.contains("0 21 31 12 *") && list.contains("Europe/Berlin"), "{list}");
        for (action, said) in [("pause", "paused"), ("resume", "on"), ("fire", "todo")] {
            let sent = ada.send("/recurring", "/recurring", &[("name", "todo"), ("action", action)]).await;
            assert_eq!(sent.status, 303, "{}", words(&sent.text));
            let list = words(&ada.page("/recurring").await);
            assert!(list.contains(said), "{action}: {list}");
        }
        written(&outbox, "recurring:todo:by-hand:", 1).await;
        let audit = words(&ada.page("/audit").await);
        assert!(audit.contains("recurring.todo") && audit.contains("fire"), "{audit}");
        let id = outbox.number("SELECT max(id) FROM outbox").await;
        let message = words(&ada.page(&format!("/messages/{id}")).await);
        assert!(message.contains("made by recurring.todo by hand at"), "{message}");
        let unknown = ada.send("/recurring", "/recurring", &[("name", "nobody"), ("action", "fire")]).await;
        assert_eq!(unknown.status, 404);
    }
}
