//! Finding messages by what a customer knows of them: target, beginning of the key, tags, tenant.

use outbox_desk::{Author, DeadLetterFilter, Desk, InDoubt, MessageFilter, Pace, Selection};
use outbox_schema::{MessageId, NewMessage, Tags};
use outbox_store::{Dialect, Status};
use outbox_tests::changes::{Unfollowed, sent};

use crate::outboxes::{self, Outbox};
use crate::poller::Poller;
use crate::program::{HTTP, Program};

/// The index of tags for MySQL and MariaDB, with the rights of nobody else.
fn index_of_tags(outbox: &Outbox) {
    let script = include_str!("../../../../outbox-schema/grants/mysql_tags.sql");
    let own: Vec<_> = script.lines().filter(|line| !line.starts_with("GRANT")).collect();
    outbox.run_client(&own.join("\n"));
}

fn message(key: &str) -> NewMessage {
    NewMessage::http("https://shop.example/hook").idempotency_key(key)
}

/// What the tests look for: six messages.
pub(crate) async fn some(outbox: &Outbox) {
    let target = |url: &str, key: &str| NewMessage::http(url).idempotency_key(key);
    let messages = [
        message("order-1").tag("order", "1").tag("customer", "7"),
        message("order-1%").tag("order", "11").tag("customer", "7").tenant("shop"),
        message("order-10").tag("order", "1").tag("customer", "8"),
        message("order_1").tag("note", "a=b, \"c\" \\ M\u{fc}ller \u{1f980}"),
        target("https://shop.example/other", "ORDER-1"),
        target("https://b.example/hook", "other"),
    ];
    outbox.enqueue(&messages).await;
}

fn tags(list: &str) -> Tags {
    list.parse().unwrap()
}

/// Filters of messages, and the messages that they find among [`some`].
fn filters() -> Vec<(MessageFilter, Vec<i64>)> {
    let any = MessageFilter::default;
    let prefix = |text: &str| MessageFilter { key_prefix: Some(text.to_owned()), ..any() };
    let tagged = |list: &str| MessageFilter { tags: tags(list), ..any() };
    let target = |text: &str| MessageFilter { target: Some(text.to_owned()), ..any() };
    let tenant = |text: &str| MessageFilter { tenant: Some(text.to_owned()), ..any() };
    vec![
        (prefix("order-1"), vec![3, 2, 1]),
        (prefix("order-1%"), vec![2]),
        (prefix("order_"), vec![4]),
        (prefix("ORDER"), vec![5]),
        (prefix("\u{10ffff}"), vec![]),
        (tagged("order=1"), vec![3, 1]),
        (tagged("order=1, customer=7"), vec![1]),
        (tagged("customer=7, order=1"), vec![1]),
        (tagged("customer=7"), vec![2, 1]),
        (tagged("customer=9"), vec![]),
        (tagged("Order=1"), vec![]),
        (tagged("note=A=b\\, \"c\" \\\\ M\u{fc}ller \u{1f980}"), vec![]),
        (tagged("note=a=b\\, \"c\" \\\\ M\u{fc}ller \u{1f980}"), vec![4]),
        (target("https://shop.example/other"), vec![5]),
        (target("https://shop.example/hook"), vec![4, 3, 2, 1]),
        (tenant("shop"), vec![2]),
        (tenant("https://b.example:443"), vec![6]),
        (MessageFilter { tags: tags("order=1"), key_prefix: Some("order-10".to_owned()), ..any() }, vec![3]),
        (MessageFilter { tags: tags("order=1"), tenant: Some("shop".to_owned()), ..any() }, vec![]),
    ]
}

async fn found(outbox: &Outbox, filter: &MessageFilter) -> Vec<i64> {
    let page = outbox.database.messages(filter, None, 100).await.unwrap();
    assert_eq!(page.next, None, "{filter:?}");
    page.messages.iter().map(|message| message.id).collect()
}

#[tokio::test]
async fn messages_are_found_by_target_beginning_of_the_key_tags_and_tenant() {
    for outbox in outboxes::each().await {
        some(&outbox).await;
        for (filter, expected) in filters() {
            assert_eq!(found(&outbox, &filter).await, expected, "{filter:?}");
            let waiting = MessageFilter { status: Some(Status::Pending), ..filter.clone() };
            assert_eq!(found(&outbox, &waiting).await, expected, "{waiting:?}");
            let delivered = MessageFilter { status: Some(Status::Success), ..filter };
            assert_eq!(found(&outbox, &delivered).await, Vec::<i64>::new(), "{delivered:?}");
        }
    }
}

#[tokio::test]
async fn messages_are_found_by_a_text_of_their_error_as_far_as_a_page_looks() {
    for outbox in outboxes::each().await {
        some(&outbox).await;
        outbox.sql("UPDATE outbox SET last_error = 'Connection refused: 100%' WHERE id IN (2, 4)").await;
        outbox.sql("UPDATE outbox SET last_error = 'connection REFUSED' WHERE id = 6").await;
        let any = MessageFilter::default;
        let error = |text: &str| MessageFilter { error_contains: Some(text.to_owned()), ..any() };
        for (filter, expected) in [
            (error("CONNECTION refused"), vec![6, 4, 2]),
            (error("0%"), vec![4, 2]),
            (error("10_"), vec![]),
            (MessageFilter { tenant: Some("shop".to_owned()), ..error("refused") }, vec![2]),
            (MessageFilter { key_prefix: Some("order_".to_owned()), ..error("refused") }, vec![4]),
            (MessageFilter { status: Some(Status::Success), ..error("refused") }, vec![]),
        ] {
            assert_eq!(found(&outbox, &filter).await, expected, "{filter:?}");
        }
        let program = Program::new(&outbox.test.url, HTTP);
        let listed = program.run(&["messages", "list", "--error-contains", "refused: 100%", "--json"]).await.json();
        let ids: Vec<_> = listed["messages"].as_array().unwrap().iter().map(|message| message["id"].clone()).collect();
        assert_eq!(ids, [4, 2]);
        // Too many rows for one page, none of which has it: the page says where it stopped.
        if outbox.dialect() == Dialect::Sqlite {
            outbox
                .sql(
                    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000) \
                     INSERT INTO outbox (channel, target, payload) SELECT 'http', '/', '{}' FROM n",
                )
                .await;
            let page = outbox.database.messages(&error("refused"), None, 100).await.unwrap();
            assert!(page.messages.is_empty() && page.next.is_some(), "{} looked at", page.looked_at);
            let rest = outbox.database.messages(&error("refused"), page.next, 100).await.unwrap();
            assert_eq!((rest.messages.len(), rest.next), (3, None));
        }
    }
}

#[tokio::test]
async fn what_may_have_been_delivered_twice_is_found_by_its_doubt_and_by_its_attempts() {
    for outbox in outboxes::each().await {
        some(&outbox).await;
        outbox.sql("UPDATE outbox SET attempts = id").await;
        for (message, epoch, outcome) in [(1, 7, "in_doubt"), (3, 7, "in_doubt"), (3, 9, "in_doubt"), (4, 7, "retry")] {
            let columns = "message_id, number, epoch, holder, outcome";
            let values = format!("{message}, 1, {epoch}, 'a.1', '{outcome}'");
            outbox.sql(&format!("INSERT INTO outbox_attempt ({columns}) VALUES ({values})")).await;
        }
        let any = MessageFilter::default;
        let in_doubt = |of: InDoubt| MessageFilter { in_doubt: Some(of), ..any() };
        for (filter, expected) in [
            (in_doubt(InDoubt::Any), vec![3, 1]),
            (in_doubt(InDoubt::OfEpoch(9)), vec![3]),
            (in_doubt(InDoubt::OfEpoch(8)), vec![]),
            (MessageFilter { tags: tags("customer=7"), ..in_doubt(InDoubt::Any) }, vec![1]),
            (MessageFilter { status: Some(Status::Success), ..in_doubt(InDoubt::Any) }, vec![]),
            (MessageFilter { attempts_from: Some(5), ..any() }, vec![6, 5]),
        ] {
            assert_eq!(found(&outbox, &filter).await, expected, "{filter:?}");
        }
        let program = Program::new(&outbox.test.url, HTTP);
        for (asked, expected) in
            [(["--in-doubt", "--attempts=2.."], vec![3]), (["--in-doubt=7", "--attempts=1"], vec![3, 1])]
        {
            let listed = program.run(&[&["messages", "list", "--json"], &asked[..]].concat()).await.json();
            let ids: Vec<_> =
                listed["messages"].as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect();
            assert_eq!(ids, expected, "{asked:?}");
        }
        let wrong = program.run(&["messages", "list", "--in-doubt=yes"]).await.misused();
        assert!(wrong.contains("neither `any` nor the epoch of a term"), "{wrong}");
    }
}

/// Messages of before the index, and of after it; and those that are gone.
#[tokio::test]
async fn mysql_lists_tags_where_its_owner_asked_for_it() {
    let [_, outbox, _] = outboxes::migrated().await;
    some(&outbox).await;
    outbox.sql("UPDATE outbox SET id = id + 100").await;
    for _ in 0..2 {
        index_of_tags(&outbox);
    }
    outbox.enqueue(&[message("later").tag("order", "1").tag("note", "\u{fc}"), message("untagged")]).await;
    // As an encoder of JSON writes it that keeps to ASCII.
    outbox
        .sql(r#"INSERT INTO outbox (channel, target, payload, tags) VALUES ('http', '/x', '1', '{"note": "\\u00fc"}')"#)
        .await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_tag").await, 7 + 3);
    let order = MessageFilter { tags: tags("order=1"), ..MessageFilter::default() };
    let page = outbox.database.messages(&order, None, 100).await.unwrap();
    assert_eq!((page.messages.len(), page.looked_at), (3, 3), "by the index alone");
    let note = MessageFilter { tags: tags("note=\u{fc}"), ..MessageFilter::default() };
    assert_eq!(found(&outbox, &note).await.len(), 2);
    outbox.sql("DELETE FROM outbox WHERE idempotency_key <> 'later'").await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_tag").await, 2);
}

#[tokio::test]
async fn a_search_by_key_or_tag_looks_at_what_it_finds_and_what_is_gone_is_listed_no_more() {
    for outbox in outboxes::each().await {
        if outbox.dialect() == Dialect::MySql {
            index_of_tags(&outbox);
        }
        some(&outbox).await;
        let many: Vec<_> = (0..2_000).map(|n| message(&format!("x-{n}")).tag("order", n.to_string())).collect();
        outbox.enqueue(&many).await;
        for (filter, rows) in [
            (MessageFilter { tags: tags("order=1"), ..MessageFilter::default() }, 3),
            (MessageFilter { tags: tags("customer=7"), ..MessageFilter::default() }, 2),
            (MessageFilter { key_prefix: Some("order-1".to_owned()), ..MessageFilter::default() }, 3),
            (MessageFilter { key_prefix: Some("nobody-s".to_owned()), ..MessageFilter::default() }, 0),
        ] {
            let page = outbox.database.messages(&filter, None, 100).await.unwrap();
            assert_eq!((page.messages.len(), page.looked_at), (rows, rows as u64), "{filter:?}");
        }
        let pages = MessageFilter { tags: tags("order=1"), ..MessageFilter::default() };
        let first = outbox.database.messages(&pages, None, 2).await.unwrap();
        let second = outbox.database.messages(&pages, first.next, 2).await.unwrap();
        assert_eq!((first.messages.len(), second.messages.len(), second.next), (2, 1, None));
        outbox.sql("DELETE FROM outbox").await;
        if outbox.dialect() != Dialect::Postgres {
            assert_eq!(outbox.number("SELECT count(*) FROM outbox_tag").await, 0);
        }
    }
}

#[tokio::test]
async fn dead_letters_are_found_and_redriven_by_the_same() {
    for outbox in outboxes::each().await {
        some(&outbox).await;
        Poller::begin(&outbox.database, "one").await.kill_all().await;
        outbox.enqueue(&[message("order-1-alive").tag("order", "1").tag("customer", "7").tenant("shop")]).await;
        for indexed in [false, true] {
            if indexed && outbox.dialect() == Dialect::MySql {
                index_of_tags(&outbox);
            }
            for (filter, expected) in filters() {
                let MessageFilter { target, key_prefix, tags, tenant, .. } = filter;
                let filter = DeadLetterFilter { target, key_prefix, tags, tenant, ..DeadLetterFilter::default() };
                let page = outbox.database.dead_letters(&filter, &[], None, 100).await.unwrap();
                let mut ids: Vec<_> = page.letters.iter().map(|letter| letter.id).collect();
                ids.sort_by(|one, other| other.cmp(one));
                assert_eq!(ids, expected, "{filter:?}");
                let groups = outbox.database.dead_groups(&Selection::Filter(filter.clone())).await.unwrap();
                assert_eq!(groups.iter().map(|group| group.count).sum::<u64>(), expected.len() as u64, "{filter:?}");
                let elsewhere = DeadLetterFilter { channel: Some("nobody-s".to_owned()), ..filter.clone() };
                let none = outbox.database.dead_letters(&elsewhere, &[], None, 100).await.unwrap();
                assert_eq!(none.letters, [], "{elsewhere:?}");
                if let (Some(first), true) = (page.letters.first(), page.letters.len() > 1) {
                    let rest = outbox.database.dead_letters(&filter, &[], Some(first.cursor()), 1).await.unwrap();
                    assert_eq!((rest.letters[0].id, rest.letters.len()), (page.letters[1].id, 1), "{filter:?}");
                }
            }
        }
        let of_customer = DeadLetterFilter { tags: tags("customer=7"), ..DeadLetterFilter::default() };
        let author = Author { who: "ada".to_owned(), why: String::new() };
        let selection = Selection::Filter(of_customer);
        let redriven = outbox.database.redrive(&selection, Pace::default(), &author).await.unwrap();
        assert_eq!(sent(&redriven), [MessageId(1), MessageId(2)]);
        // The audit keeps the filter as it was.
        let said = outbox.text("SELECT CAST(details AS CHAR(200)) FROM outbox_audit WHERE part_of IS NULL").await;
        assert!(said.contains("customer=7"), "{said}");
    }
}

#[tokio::test]
async fn the_command_finds_and_changes_by_the_same_flags_and_an_empty_one_never_means_all() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, HTTP);
        some(&outbox).await;
        Poller::begin(&outbox.database, "one").await.kill_all().await;
        for flags in [
            &["--tag", "order=1", "--tag", "customer=7"][..],
            &["--key-prefix", "order-1", "--tag", "order=1", "--tag", "customer=7"],
            &["--target", "https://shop.example/hook", "--tag", "customer=7", "--tag", "order=1"],
        ] {
            let listed = program.run(&[&["messages", "list", "--json"], flags].concat()).await.json();
            assert_eq!((listed["messages"].as_array().unwrap().len(), &listed["messages"][0]["id"]), (1, &1.into()));
            let letters =
                program.run(&[&["dead-letters", "list", "--ungrouped", "--json"], flags].concat()).await.json();
            assert_eq!((letters["letters"].as_array().unwrap().len(), &letters["letters"][0]["id"]), (1, &1.into()));
        }
        let nothing = program.run(&["messages", "list", "--tenant", "nobody-s"]).await.done();
        assert_eq!(nothing, "no such messages\n");
        for wrong in [&["--key-prefix", ""][..], &["--tag", ""], &["--tag", "order"], &["--tag", "a=1", "--tag", "a=2"]]
        {
            program.run(&[&["dead-letters", "redrive"], wrong].concat()).await.misused();
            program.run(&[&["messages", "list"], wrong].concat()).await.misused();
        }
        program.run(&["dead-letters", "redrive", "--tenant", "shop"]).await.done();
        program
            .run(&["dead-letters", "purge", "--tag", "order=1", "--target", "https://shop.example/hook", "--yes"])
            .await
            .done();
        let moved = [
            "dead-letters",
            "edit",
            "--old-target",
            "https://b.example/hook",
            "--target",
            "https://c.example/x",
            "--yes",
        ];
        program.run(&moved).await.done();
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE target = 'https://c.example/x'").await, 1);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await, 1);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 4);
    }
}
