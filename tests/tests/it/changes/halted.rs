//! Ordering keys that a dead letter halts: counted by the status, listed, shown as a metric, and marked among the dead letters.

use std::collections::BTreeMap;

use outbox_desk::{Desk, KeyCursor};
use outbox_store::{ConnectOptions, Database, Dialect};
use serde_json::{Value, json};

use crate::outboxes::{self, Outbox};
use crate::page::words;
use crate::program::{HTTP, Program};

/// A channel that halts at dead letters, beside one that goes on.
fn halting() -> String {
    format!("[channels.orders]\nkind = \"http\"\non_dead_ordered = \"halt\"\n{HTTP}")
}

/// Writes messages in the order of their ids: channel, ordering key, and the reason of the dead or none for what waits.
async fn write(outbox: &Outbox, messages: &[(&str, &str, Option<&str>)]) {
    let (now, later) = match outbox.dialect() {
        Dialect::Postgres => ("now()", "now() + interval '1 hour'"),
        Dialect::MySql => ("UTC_TIMESTAMP(6)", "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR"),
        Dialect::Sqlite => {
            let ms = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)";
            (ms, "CAST(round(unixepoch('subsec') * 1000) AS INTEGER) + 3600000")
        }
    };
    let row = |(place, (channel, key, dead)): (usize, &(&str, &str, Option<&str>))| {
        let end = match dead {
            Some(reason) => format!("'DEAD', '{reason}', 1, 1, {now}"),
            // Decided about already: the checks of what is born do not bind it.
            None => "'PENDING', NULL, 1, 0, NULL".to_owned(),
        };
        format!("({}, '{channel}', 'https://shop.example/hook', '{{}}', '{key}', {later}, {end})", place + 1)
    };
    let rows: Vec<_> = messages.iter().enumerate().map(row).collect();
    let into = "INSERT INTO outbox (id, channel, target, payload, ordering_key, available_at, status, dead_reason, revision, attempts, \
                finished_at)";
    outbox.sql(&format!("{into} VALUES {}", rows.join(", "))).await;
}

const REFUSED: Option<&str> = Some("permanent");

/// The key `k` is halted by message 1, and no other key is.
async fn one_halted_key(outbox: &Outbox) {
    write(
        outbox,
        &[
            ("orders", "k", REFUSED),
            ("orders", "k", None),
            ("http", "k", REFUSED),
            ("http", "k", None),
            ("orders", "k", REFUSED),
            ("orders", "k", None),
            ("orders", "cancelled", Some("cancelled")),
            ("orders", "cancelled", None),
            ("orders", "nothing waits", REFUSED),
            ("orders", "first goes", None),
            ("orders", "first goes", REFUSED),
            ("orders", "first goes", None),
        ],
    )
    .await;
}

/// Which message each dead letter says that it keeps waiting.
fn marks(letters: &Value) -> BTreeMap<i64, Option<i64>> {
    let mark = |letter: &Value| (letter["id"].as_i64().unwrap(), letter["first_waiting"].as_i64());
    letters["letters"].as_array().unwrap().iter().map(mark).collect()
}

#[tokio::test]
async fn a_halted_ordering_key_is_counted_listed_and_marked_until_its_dead_letter_is_redriven() {
    for outbox in outboxes::each().await {
        one_halted_key(&outbox).await;
        let program = Program::new(&outbox.test.url, &halting());
        let status = program.run(&["status"]).await.done();
        assert!(
            status.contains("\nhalted: 1 ordering key, 2 messages; oldest behind 1 (outbox messages explain 2)\n"),
            "{status}"
        );
        let explained = program.run(&["messages", "explain", "2"]).await.done();
        assert!(explained.contains("redrive 1"), "{explained}");

        let list = ["ordering-keys", "list", "--halted"];
        let listed = program.run(&[&list[..], &["--json"]].concat()).await.json();
        let [key] = &listed["keys"].as_array().unwrap()[..] else { panic!("{listed}") };
        assert!(key["dead_at"].as_str().is_some_and(|at| at.starts_with("20") && at.ends_with('Z')), "{key}");
        assert_eq!(
            (&key["channel"], &key["ordering_key"], &key["dead_letter"]),
            (&json!("orders"), &json!("k"), &json!(1))
        );
        assert_eq!(
            (&key["first_waiting"], &key["waiting"], &key["dead_reason"]),
            (&json!(2), &json!(2), &json!("permanent"))
        );
        let none = program.run(&[&list[..], &["--channel", "order"]].concat()).await;
        assert!(none.stdout == "no halted ordering keys\n" && none.stderr.contains("did you mean orders?"), "{none:?}");

        let letters = ["dead-letters", "list", "--ungrouped"];
        let marked = marks(&program.run(&[&letters[..], &["--json"]].concat()).await.json());
        assert_eq!(marked, [(1, Some(2)), (3, None), (5, None), (7, None), (9, None), (11, None)].into());
        let shown = program.run(&letters).await.done();
        let of_first = shown.lines().find(|line| line.starts_with("1 ")).unwrap();
        assert!(shown.contains("HALTS KEY") && of_first.contains("Z  k          "), "{shown}");

        program.run(&["dead-letters", "redrive", "1"]).await.done();
        let status = program.run(&["status"]).await.done();
        assert!(!status.contains("halted"), "its first message can go: {status}");
        assert_eq!(program.run(&list).await.done(), "no halted ordering keys\n");
    }
}

#[tokio::test]
async fn a_replica_lists_and_counts_halted_keys_and_others_judge_by_its_settings() {
    for outbox in outboxes::each().await {
        one_halted_key(&outbox).await;
        let program = Program::new(&outbox.test.url, &halting());
        let elsewhere = Program::new(&outbox.test.url, "");
        let list = ["ordering-keys", "list", "--halted"];
        assert_eq!(
            elsewhere.run(&list).await.done(),
            "no halted ordering keys\n",
            "no settings say that a channel halts"
        );
        let mut replica = program.start();
        let listener = replica.listener().await;
        let beat = async || (outbox.number("SELECT count(*) FROM outbox_replica").await == 1).then_some(());
        outbox_tests::eventually("the replica has said what it runs by", crate::program::PATIENCE, beat).await;
        let by_replica = |arguments: &'static [&'static str]| [&["--url", listener.as_str()], arguments].concat();
        for question in [
            &["ordering-keys", "list", "--halted", "--json"] as &'static [&'static str],
            &["ordering-keys", "list", "--halted", "--channel", "http"],
            &["dead-letters", "list", "--ungrouped", "--json"],
        ] {
            let told = program.run(&by_replica(question)).await.done();
            assert_eq!(told, elsewhere.run(question).await.done(), "{question:?}");
            assert_eq!(told, program.run(question).await.done(), "{question:?}");
            assert_eq!(told.contains("\"first_waiting\": 2"), question.contains(&"--json"), "{told}");
        }
        let get = async |path: &str| {
            outbox_adapters::ensure_crypto_provider();
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            let answer = client.get(format!("{listener}{path}")).send().await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        };
        let (code, keys) = get("/api/v1/ordering-keys?halted=true&limit=1").await;
        assert!(code == 200 && keys.contains("\"dead_letter\":1"), "{keys}");
        for refused in ["", "?halted=false", "?halted=true&after=x", "?halted=true&limit=0"] {
            assert_eq!(get(&format!("/api/v1/ordering-keys{refused}")).await.0, 400, "{refused}");
        }
        for (path, says) in [
            ("/", "Halted keysChannel"),
            ("/ordering-keys?channel=orders", "korders1permanent"),
            ("/ordering-keys?channel=http", "No ordering key is halted."),
        ] {
            let (code, page) = get(path).await;
            assert!(code == 200 && words(&page).contains(says), "{path}: {page}");
        }
        let (_, metrics) = get("/metrics").await;
        let shown: Vec<_> = metrics.lines().filter(|line| line.starts_with("outbox_halted_keys")).collect();
        assert_eq!(shown, ["outbox_halted_keys{channel=\"orders\"} 1"]);
    }
}

/// A key is halted behind more dead letters than one look counts, and more messages wait in it than are counted.
async fn halted_behind_many(outbox: &Outbox) {
    let now = match outbox.dialect() {
        Dialect::Postgres => "now()",
        Dialect::MySql => "UTC_TIMESTAMP(6)",
        Dialect::Sqlite => "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
    };
    let columns =
        "channel, target, payload, ordering_key, available_at, status, dead_reason, revision, attempts, finished_at";
    let row = |key: &str, state: &str| format!("'orders', 'https://shop.example/', '{{}}', '{key}', {now}, {state}");
    let dead = format!("'DEAD', 'permanent', 1, 1, {now}");
    let insert = async |rows: &str| outbox.sql(&format!("INSERT INTO outbox ({columns}) {rows}")).await;
    insert(&format!("VALUES ({})", row("a", &dead))).await;
    for _ in 0..14 {
        insert(&format!("SELECT {columns} FROM outbox")).await;
    }
    insert(&format!("VALUES ({}), ({})", row("z", &dead), row("z", "'PENDING', NULL, 0, 0, NULL"))).await;
    for _ in 0..10 {
        insert(&format!("SELECT {columns} FROM outbox WHERE status = 'PENDING'")).await;
    }
}

#[tokio::test]
async fn where_there_may_be_more_halted_keys_than_were_counted_each_place_says_so_and_the_list_has_them() {
    for outbox in outboxes::each().await {
        halted_behind_many(&outbox).await;
        let program = Program::new(&outbox.test.url, &halting());
        let status = program.run(&["status"]).await.done();
        let none_yet = "\nhalted: no ordering key by the first 10,000 dead letters; outbox ordering-keys list --halted looks at all\n";
        assert!(status.contains(none_yet), "{status}");
        let listed = program.run(&["ordering-keys", "list", "--halted"]).await.done();
        assert!(listed.contains("orders") && listed.contains("  1000 or more  "), "{listed}");

        let mut replica = program.start();
        let listener = replica.listener().await;
        let (_, page) = crate::listener::readiness::get(&listener, "/").await;
        assert!(words(&page).contains("or more: the first 10,000 dead letters of a channel were looked at"), "{page}");
        let (_, metrics) = crate::listener::readiness::get(&listener, "/metrics").await;
        assert!(metrics.contains("# HELP outbox_halted_keys At least so many"), "{metrics}");
        assert!(metrics.contains("\noutbox_halted_keys{channel=\"orders\"} 0\n"), "{metrics}");
    }
}

#[tokio::test]
async fn pages_of_halted_keys_lead_to_each_other_by_channel_and_key() {
    for outbox in outboxes::each().await {
        let keys: Vec<_> = (0..7).map(|number| format!("key/{number}")).collect();
        let mut messages = Vec::new();
        for key in &keys {
            // Two dead letters of a key are one halted key. A key may be empty, and of two channels.
            let key = if key == "key/3" { "" } else { key.as_str() };
            messages.extend([("a", key, REFUSED), ("b", key, REFUSED), ("c", key, REFUSED), ("a", key, REFUSED)]);
            messages.extend([("b", key, None), ("a", key, None), ("c", key, None)]);
        }
        write(&outbox, &messages).await;
        let halting = ["b", "a"].map(str::to_owned);
        let mut wanted: Vec<_> = ["a", "b"]
            .iter()
            .flat_map(|channel| keys.iter().map(move |key| (*channel, key.replace("key/3", ""))))
            .collect();
        wanted.sort();
        for limit in [1, 2, 3, 7, 100] {
            let (mut found, mut after): (Vec<_>, Option<KeyCursor>) = (Vec::new(), None);
            loop {
                let page = outbox.database.halted_keys(&halting, None, after.as_ref(), limit).await.unwrap();
                found.extend(page.keys.into_iter().map(|key| (key.channel, key.ordering_key)));
                let Some(next) = page.next else { break };
                assert_eq!(next.to_string().parse().as_ref(), Ok(&next));
                after = Some(next);
            }
            let found: Vec<_> = found.iter().map(|(channel, key)| (channel.as_str(), key.clone())).collect();
            assert_eq!(found, wanted, "in pages of {limit}");
        }
        let of_one = outbox.database.halted_keys(&halting, Some("b"), None, 100).await.unwrap().keys;
        assert!(of_one.len() == 7 && of_one.iter().all(|key| key.channel == "b"), "{of_one:?}");
        assert_eq!(outbox.database.halted_keys(&halting, Some("c"), None, 100).await.unwrap().keys, []);
    }
}

/// The URL of a MySQL or MariaDB may name one, and a server has its own default.
#[tokio::test]
async fn halted_keys_and_explanations_are_read_under_any_collation_of_the_connection() {
    for outbox in outboxes::each().await.filter(|outbox| outbox.dialect() == Dialect::MySql) {
        one_halted_key(&outbox).await;
        for collation in ["utf8mb4_unicode_ci", "utf8mb4_bin"] {
            let url = format!("{}?collation={collation}", outbox.test.url);
            let program = Program::new(&url, &halting());
            let explained = program.run(&["messages", "explain", "2"]).await.done();
            assert!(explained.contains("waits behind message 1"), "{explained}");
            let options = ConnectOptions { url: &url, schema: None, connections: 1 };
            let database = Database::connect(&options).await.unwrap();
            for (after, keys) in [("", 1), ("k", 0)] {
                let after = KeyCursor { channel: "orders".to_owned(), ordering_key: after.to_owned() };
                let page = database.halted_keys(&["orders".to_owned()], None, Some(&after), 10).await.unwrap();
                assert_eq!(page.keys.len(), keys, "{collation}: {page:?}");
            }
            database.close().await;
        }
    }
}
