//! Lists of messages, on each database.

use std::time::Duration;

use outbox_desk::{Desk, MessageFilter, MessagePage, Moment};
use outbox_schema::MessageId;
use outbox_store::Status;
use outbox_tests::conformance::store::{Dialect, Outbox, on_every_database};

use crate::program::{HTTP, Program};

async fn listed(outbox: &Outbox, filter: &MessageFilter, after: Option<MessageId>, limit: u32) -> MessagePage {
    let page = outbox.database().messages(filter, after, limit).await.unwrap();
    let json = serde_json::to_string(&page).unwrap();
    assert_eq!(serde_json::from_str::<MessagePage>(&json).unwrap(), page);
    page
}

fn ids(page: &MessagePage) -> Vec<i64> {
    page.messages.iter().map(|message| message.id).collect()
}

/// How MariaDB and MySQL each let a recursion go on.
const RECURSION: &str = "/*M! max_recursive_iterations = 1000000 */ /*!80000 cte_max_recursion_depth = 1000000 */";

/// So many delivered messages, quickly.
async fn history(outbox: &Outbox, messages: u32) {
    let columns = "INSERT INTO outbox (idempotency_key, channel, target, payload, status, revision)";
    let script = match outbox.dialect {
        Dialect::Postgres => format!(
            "{columns} SELECT 'h' || n, 'http', '/hook', '{{}}', 'SUCCESS', 1 FROM generate_series(1, {messages}) n; \
             ANALYZE outbox"
        ),
        // Several statements: each has a limit of time.
        Dialect::MySql => {
            let insert = |from: u32| {
                let to = messages.min(from + 19_999);
                format!(
                    "{columns} WITH RECURSIVE n (n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM n WHERE n < {to}) \
                     SELECT CONCAT('h', n), 'http', '/hook', '{{}}', 'SUCCESS', 1 FROM n"
                )
            };
            let inserts = (1..=messages).step_by(20_000).map(insert).collect::<Vec<_>>().join(";");
            format!("SET SESSION {RECURSION}; {inserts}")
        }
        Dialect::Sqlite => format!(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {messages}) \
             {columns} SELECT 'h' || n, 'http', '/hook', '{{}}', 'SUCCESS', 1 FROM n"
        ),
    };
    outbox.execute(&script).await;
}

#[tokio::test]
async fn messages_are_listed_by_all_that_a_filter_says_the_newest_first() {
    on_every_database(async |outbox| {
        let old = outbox.insert(&[("created_at", &outbox.moment(-7_200_000)), ("priority", "2")]).await.0;
        let finished = outbox.moment(0);
        let done = outbox.insert(&[("status", "'SUCCESS'"), ("finished_at", &finished)]).await.0;
        let dead = outbox.insert(&[("status", "'DEAD'"), ("dead_reason", "'exhausted'")]).await.0;
        let keyed = outbox.insert(&[("ordering_key", "'o-1'"), ("channel", "'hook'")]).await.0;
        let url = outbox.insert(&[("target", "'https://shop.example/x'")]).await.0;
        let all = MessageFilter::default();
        let of = |change: &dyn Fn(&mut MessageFilter)| {
            let mut filter = MessageFilter::default();
            change(&mut filter);
            filter
        };
        let hour = Duration::from_hours(1);
        for (filter, expected) in [
            (all, vec![url, keyed, dead, done, old]),
            (of(&|filter| filter.status = Some(Status::Pending)), vec![url, keyed, old]),
            (of(&|filter| filter.status = Some(Status::Success)), vec![done]),
            (of(&|filter| filter.status = Some(Status::Dead)), vec![dead]),
            (of(&|filter| filter.channel = Some("hook".to_owned())), vec![keyed]),
            (of(&|filter| filter.destination = Some("https://shop.example:443".to_owned())), vec![url]),
            (of(&|filter| filter.ordering_key = Some("o-1".to_owned())), vec![keyed]),
            (of(&|filter| filter.priority = Some(2)), vec![old]),
            (of(&|filter| filter.since = Some(Moment::Ago(hour))), vec![url, keyed, dead, done]),
            (of(&|filter| filter.until = Some(Moment::Ago(hour))), vec![old]),
            (
                of(&|filter| {
                    filter.status = Some(Status::Pending);
                    filter.channel = Some("http".to_owned());
                    filter.since = Some(Moment::Ago(hour));
                }),
                vec![url],
            ),
            (of(&|filter| filter.channel = Some("nobody-s".to_owned())), vec![]),
        ] {
            let page = listed(outbox, &filter, None, 100).await;
            assert_eq!((ids(&page), page.next), (expected, None), "{filter:?}");
        }
        let page = listed(outbox, &MessageFilter::default(), None, 9).await;
        let last = &page.messages[2];
        assert_eq!((last.status.as_str(), last.dead_reason.as_deref()), ("DEAD", Some("exhausted")));
        assert!(last.created_at.contains('T') && last.finished_at.is_none(), "{last:?}");
    })
    .await;
}

#[tokio::test]
async fn pages_follow_each_other_and_the_last_says_so() {
    on_every_database(async |outbox| {
        let mut expected = Vec::new();
        for number in 0..7 {
            let status = if number % 2 == 0 { "'PENDING'" } else { "'SUCCESS'" };
            expected.push(outbox.insert(&[("status", status)]).await.0);
        }
        expected.reverse();
        let pending = MessageFilter { status: Some(Status::Pending), ..MessageFilter::default() };
        let waiting: Vec<_> = expected.iter().copied().step_by(2).collect();
        for (filter, expected) in [(MessageFilter::default(), expected), (pending, waiting)] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = listed(outbox, &filter, after, 2).await;
                assert!(page.messages.len() == 2 || page.next.is_none(), "{page:?}");
                found.extend(ids(&page));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(found, expected);
        }
    })
    .await;
}

#[tokio::test]
async fn what_waits_or_is_dead_is_found_beneath_a_long_history_and_a_search_in_it_is_bounded() {
    on_every_database(async |outbox| {
        let waits = outbox.insert(&[("target", "'/first'")]).await;
        let ordered = outbox.insert(&[("ordering_key", "'o'")]).await;
        let dead = outbox.insert(&[("status", "'DEAD'"), ("channel", "'rare'")]).await;
        history(outbox, 110_100).await;
        for (status, expected) in [(Status::Pending, vec![ordered.0, waits.0]), (Status::Dead, vec![dead.0])] {
            let filter = MessageFilter { status: Some(status), ..MessageFilter::default() };
            let page = listed(outbox, &filter, None, 100).await;
            assert_eq!((ids(&page), page.next), (expected, None));
            assert!(page.looked_at <= 2, "{page:?}");
        }
        let newest = listed(outbox, &MessageFilter::default(), None, 2).await;
        assert_eq!((newest.messages.len(), newest.looked_at), (2, 3));

        let rare = MessageFilter { channel: Some("rare".to_owned()), ..MessageFilter::default() };
        let page = listed(outbox, &rare, None, 100).await;
        assert_eq!(ids(&page), Vec::<i64>::new());
        assert!((100_000..110_000).contains(&page.looked_at), "{page:?}");
        let last = listed(outbox, &rare, page.next, 100).await;
        assert_eq!((ids(&last), last.next), (vec![dead.0], None));
    })
    .await;
}

#[tokio::test]
async fn more_than_a_few_that_wait_are_found_by_walking_down() {
    on_every_database(async |outbox| {
        history(outbox, 20_100).await;
        outbox.execute("UPDATE outbox SET status = 'PENDING'").await;
        let pending = MessageFilter { status: Some(Status::Pending), ..MessageFilter::default() };
        let page = listed(outbox, &pending, None, 2).await;
        let second = listed(outbox, &pending, page.next, 2).await;
        assert_eq!((page.looked_at, second.looked_at), (3, 3), "rows, from the top");
        assert_eq!(ids(&page)[1] - 1, ids(&second)[0]);
    })
    .await;
}

/// Messages of one ordering key under these keys, and the program beside them.
async fn enqueued(keys: &[&str]) -> Program {
    let outbox = Outbox::fresh(Dialect::Sqlite).await;
    for key in keys {
        let key = format!("'{key}'");
        let columns = [("idempotency_key", key.as_str()), ("ordering_key", "'o'"), ("payload", "'\"a secret\"'")];
        outbox.insert(&columns).await;
    }
    Program::new(outbox.url(), HTTP)
}

#[tokio::test]
async fn the_command_lists_pages_and_no_bodies() {
    let program = enqueued(&["one", "two", "three"]).await;
    let text = program.run(&["messages", "list", "--status", "pending", "--limit", "2"]).await.done();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("ID  STATUS") && lines[1].starts_with("3   PENDING"), "{text}");
    assert_eq!(lines[3], "more with --after 2", "{text}");
    assert!(!text.contains("a secret"), "{text}");
    let rest = program.run(&["messages", "list", "--after", "2", "--json"]).await.json();
    assert_eq!((&rest["messages"][0]["id"], &rest["next"]), (&1.into(), &serde_json::Value::Null));
    assert!(!rest.to_string().contains("a secret"));
    assert_eq!(program.run(&["messages", "list", "--status", "dead"]).await.done(), "no such messages\n");
    let wrong = program.run(&["messages", "list", "--status", "lost"]).await.misused();
    assert!(wrong.contains("pending, success, dead"), "{wrong}");
}

#[tokio::test]
async fn the_command_explains_a_message_by_its_id_or_its_key() {
    let program = enqueued(&["one", "two"]).await;
    let text = program.run(&["messages", "explain", "two"]).await.done();
    assert!(text.starts_with("message 2 (two) of channel http: PENDING, attempts: 0\n"), "{text}");
    assert!(text.contains("Why has it not been sent?") && !text.contains("sent twice"), "nothing was sent: {text}");
    let waits = "  - It waits behind message 1 of its ordering key \"o\". Of message 1: No replica has ever polled";
    assert!(text.contains(waits), "{text}");
    let json = program.run(&["messages", "explain", "2", "--json"]).await.json();
    assert_eq!((&json["id"], &json["not_sent"][0]["cause"]), (&2.into(), &"waits_behind".into()));
    assert_eq!(json["not_sent"][0]["because"][0]["cause"], "never_polled");
    assert_eq!(
        (&json["not_sent"][1]["cause"], &json["sent_twice"]["verdict"]),
        (&"never_polled".into(), &"once".into())
    );
    assert!(!json.to_string().contains("a secret"));
    let nobody = program.run(&["messages", "explain", "three"]).await.failed();
    assert!(nobody.contains("no message has the id or the idempotency key `three`"), "{nobody}");

    program.write("outbox.toml", &HTTP.replace("channels.http", "channels.other"));
    let unknown = program.run(&["messages", "explain", "1"]).await.done();
    assert!(unknown.contains("  - Its channel \"http\" is not configured here."), "{unknown}");
    let shown = program.run(&["messages", "show", "1"]).await.done();
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("now ") && last.contains("Its channel \"http\" is not configured here."), "{shown}");
    assert!(shown.lines().any(|line| line.ends_with("Z  enqueued")), "{shown}");
}
