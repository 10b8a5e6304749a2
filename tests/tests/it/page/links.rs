//! The way from what a page names to the page of that.

use outbox_tests::eventually;

use super::{OPERATES, Stage, TOKENS, words};
use crate::outboxes;
use crate::program::PATIENCE;

#[tokio::test]
async fn what_an_explanation_a_life_or_the_audit_names_leads_to_its_own_page() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        let program = &stage.program;
        let target = stage.sink.url("/garbage");
        let of_key = [
            "enqueue",
            "--channel",
            "orders",
            "--target",
            &target,
            "--payload",
            "{}",
            "--ordering-key",
            "order 17",
            "--force",
        ];
        program.run(&of_key).await.done();
        stage.dead(&outbox, 1).await;
        program.run(&of_key).await.done();
        let waits = outbox.number("SELECT max(id) FROM outbox").await;
        let ada = stage.person(OPERATES).await;
        let has = async |path: &str, link: &str| {
            let page = ada.page(path).await;
            assert!(page.contains(link), "{path} lacks {link}: {page}");
        };
        let page = format!("/messages/{waits}");
        has(&page, "behind <a href=\"/messages/1\">message 1</a> of its ordering key").await;
        has(&page, "<a href=\"/messages?ordering_key=order+17\">&quot;order 17&quot;</a>").await;
        program.run(&["destinations", "pause", "orders", "--why", "they move", "--by", "ada"]).await.done();
        has(&page, "<a href=\"/destinations?destination=orders\">orders</a> is paused").await;

        // The life names the term of an attempt, and a change of many messages.
        has("/messages/1", "<a href=\"/terms?epoch=1\">epoch 1</a>").await;
        let redrive = ["dead-letters", "redrive", "--reason", "permanent", "--why", "try it", "--by", "ada"];
        program.run(&redrive).await.done();
        let operation = outbox.number("SELECT max(id) FROM outbox_audit WHERE part_of IS NULL").await;
        has("/messages/1", &format!("<a href=\"/operations/{operation}\">audit {operation}</a>: redrive by ada")).await;
        has("/audit", &format!("<a href=\"/operations/{operation}\">{operation}</a>")).await;
        has("/audit", "<a href=\"/destinations?destination=orders\">orders</a>").await;
        has("/audit?message=1", "<a href=\"/messages/1\">1</a>").await;
        has("/audit?message=1", &format!("<a href=\"/operations/{operation}\">{operation}</a>")).await;
        program.run(&["dead-letters", "undo", &operation.to_string(), "--by", "ada"]).await.done();
        has("/audit", &format!("operation <a href=\"/operations/{operation}\">{operation}</a>")).await;
        // A change of one message is no operation.
        program.run(&["messages", "cancel", &waits.to_string(), "--by", "ada"]).await.done();
        let cancelled = outbox.number("SELECT max(id) FROM outbox_audit").await;
        let audit = ada.page("/audit").await;
        assert!(!audit.contains(&format!("/operations/{cancelled}\"")), "{audit}");
        has("/audit", &format!("<a href=\"/messages/{waits}\">{waits}</a>")).await;

        for (path, said) in [
            ("/terms?epoch=1".to_owned(), "Next term began"),
            (format!("/operations/{operation}"), "try it"),
            ("/destinations?destination=orders".to_owned(), "they move"),
            ("/".to_owned(), "Who polls"),
        ] {
            let page = ada.page(&path).await;
            assert!(words(&page).contains(said), "{path}: {}", words(&page));
        }
        has("/", "<a href=\"/terms?epoch=1\">1</a>").await;
        has("/", "<a href=\"/destinations?destination=orders\">orders</a>").await;
    }
}

#[tokio::test]
async fn terms_come_in_pages_each_with_the_gap_behind_it_and_a_page_of_its_own() {
    let [outbox, ..] = outboxes::migrated().await;
    // Each lasts ten seconds, and the next one begins two seconds later.
    outbox
        .sql(
            "INSERT INTO outbox_term_log (shard, epoch, holder, started_at, ended_at, ended_because, claimed, delivered, failed, in_doubt) \
             SELECT 0, n, 'holder-' || n, timestamptz '2026-05-01 14:00:00Z' + n * interval '12 s', \
                    timestamptz '2026-05-01 14:00:10Z' + n * interval '12 s', 'lost', 7, 6, 1, 4 FROM generate_series(1, 120) AS n",
        )
        .await;
    outbox
        .sql("INSERT INTO outbox_term (shard, epoch, holder, started_at) VALUES (0, 120, 'holder-120', now()) ON CONFLICT (shard) DO UPDATE SET epoch = 120")
        .await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let ada = stage.person(OPERATES).await;
    let polls = async || (outbox.number("SELECT max(epoch) FROM outbox_term_log").await > 120).then_some(());
    eventually("the replica polls", PATIENCE, polls).await;
    let (mut path, mut seen, mut gaps) = ("/terms".to_owned(), Vec::new(), 0);
    loop {
        let page = ada.page(&path).await;
        let rows = page.split("<th class=\"whole\" scope=\"row\"><a href=\"/terms?epoch=").skip(1);
        seen.extend(rows.map(|row| row.split('"').next().unwrap().parse::<i64>().unwrap()));
        gaps += page.matches("<td class=\"number\">2.0s</td>").count();
        let Some((_, next)) = page.split_once("rel=\"next\" href=\"") else { break };
        path = next.split('"').next().unwrap().replace("&amp;", "&");
    }
    assert_eq!(seen, (1..=121).rev().collect::<Vec<_>>());
    // All but that of the last one before the replica came, also where the next term is on the page before.
    assert_eq!(gaps, 119);
    let one = words(&ada.page("/terms?epoch=7").await);
    for said in [
        "holder-7",
        "2026-05-01T14:01:24Z",
        "2026-05-01T14:01:34Z",
        "2026-05-01T14:01:36Z",
        "lost its lease",
        "In doubt4 ",
    ] {
        assert!(one.contains(said), "{said}: {one}");
    }
    assert!(words(&ada.page("/terms?epoch=4711").await).contains("The log has no such term."));
    for (path, said) in [("/terms?after=7", "it is not where a page of terms ended"), ("/terms?epoch=x", "epoch")] {
        let refused = ada.look(path).await;
        assert!(refused.status == 400 && refused.text.contains(said), "{path}: {}", refused.text);
    }
    let api =
        ada.ask(|client, url| client.get(format!("{url}/api/v1/terms?limit=1&after=8-0")).bearer_auth(OPERATES)).await;
    assert_eq!(api.headers["link"], "<?limit=1&after=7-0>; rel=\"next\"");
    assert!(
        api.text.contains("\"epoch\":7,") && api.text.contains("\"next_started_at\":\"2026-05-01T14:01:36"),
        "{}",
        api.text
    );
}
