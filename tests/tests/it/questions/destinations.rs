//! Destinations and targets that are gone, as people see and change them, on each database; and a pause by hand with a real
//! poller.

use std::time::Duration;

use outbox_desk::{Author, ByHand, Desk, DestinationEntry, HeldUp, InvalidTargetSelection, Moment};
use outbox_schema::NewMessage;
use outbox_schema::origin::{column, origin};
use outbox_store::destination::{Aside, DestinationStore, Look};
use outbox_store::{Dialect, Verdict};
use outbox_tests::eventually;
use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use crate::outboxes::{self, Outbox};
use crate::poller::Poller;
use crate::program::{HTTP, PATIENCE, Program};
use crate::sink::Sink;

const SLOW: &str = "https://slow.example:443";

const HOUR: Option<Duration> = Some(Duration::from_hours(1));

fn ada(why: &str) -> Author {
    Author { who: "ada".to_owned(), why: why.to_owned() }
}

/// So many due messages to `target`.
async fn enqueue(outbox: &Outbox, target: &str, count: usize) {
    let messages: Vec<_> = (0..count).map(|_| NewMessage::http(target)).collect();
    outbox.enqueue(&messages).await;
}

/// Puts the due rows of a destination aside, as a poller does.
async fn put_aside(outbox: &Outbox, poller: &Poller, destination: &str, from: Duration, step: Duration) -> u64 {
    let reason = (!step.is_zero()).then(|| "it takes 2.0 s to answer".to_owned());
    let aside = Aside {
        destination: destination.to_owned(),
        whole_channel: false,
        from,
        step,
        most: Duration::from_mins(5),
        reason,
    };
    outbox.database.put_aside(&poller.term, &[aside], &[], &mut Look::of(10_000)).await.unwrap()[0]
}

async fn entry(outbox: &Outbox, name: &str) -> Option<DestinationEntry> {
    outbox.database.destinations(true).await.unwrap().into_iter().find(|entry| entry.destination == name)
}

async fn put_off(outbox: &Outbox) -> i64 {
    outbox.number("SELECT count(*) FROM outbox WHERE deferred_from IS NOT NULL").await
}

#[tokio::test]
async fn each_thing_that_holds_a_destination_up_has_its_own_state() {
    for outbox in outboxes::each().await {
        let database = &outbox.database;
        let poller = Poller::begin(database, "one").await;
        assert_eq!(database.destinations(true).await.unwrap(), []);

        enqueue(&outbox, "https://slow.example/x", 3).await;
        assert_eq!(put_aside(&outbox, &poller, SLOW, Duration::from_mins(1), Duration::from_secs(1)).await, 3);
        let slow = entry(&outbox, SLOW).await.unwrap();
        let HeldUp::Aside { remaining_ms: 55_000..=62_000, .. } = slow.held else { panic!("{slow:?}") };
        assert_eq!((slow.waiting, slow.reason.as_deref()), (3, Some("it takes 2.0 s to answer")));

        enqueue(&outbox, "/hook", 1).await;
        let (claim, messages) = poller.claim().await;
        poller.mark(claim, &messages, &Verdict::Deferred { after: Duration::from_mins(1) }).await;
        let asked = entry(&outbox, "http").await.unwrap();
        let HeldUp::Asked { remaining_ms: 50_000..=60_000, .. } = asked.held else { panic!("{asked:?}") };
        // The channel counts its own and those of its destinations. Who asks to be left alone has not failed.
        assert_eq!((asked.waiting, asked.failures), (4, 0));
        outbox.sql("UPDATE outbox_destination SET pause_kind = 'barred' WHERE destination = 'http'").await;
        let barred = entry(&outbox, "http").await.unwrap();
        let HeldUp::Asked { remaining_ms: 50_000..=60_000, .. } = barred.held else { panic!("{barred:?}") };

        outbox.sql("UPDATE outbox_destination SET pause_kind = 'breaker' WHERE destination = 'http'").await;
        let broken = entry(&outbox, "http").await.unwrap();
        let HeldUp::Broken { remaining_ms: 1..=60_000, .. } = broken.held else { panic!("{broken:?}") };
        outbox.sql("UPDATE outbox_destination SET paused_until = by_hand_at WHERE destination = 'http'").await;
        assert_eq!(entry(&outbox, "http").await.unwrap().held, HeldUp::Open, "it was never paused");

        let until = database.pause(SLOW, HOUR, &ada("they move")).await.unwrap().until.unwrap();
        let paused = entry(&outbox, SLOW).await.unwrap();
        let HeldUp::Paused { by, until: Some(shown), remaining_ms: Some(3_590_000..=3_600_000) } = paused.held else {
            panic!("{paused:?}")
        };
        assert_eq!((by.as_deref(), &shown, paused.reason.as_deref()), (Some("ada"), &until, Some("they move")));
        assert_eq!(database.pause(SLOW, None, &ada("for good")).await.unwrap().until, None);
        let for_good = HeldUp::Paused { by: Some("ada".to_owned()), until: None, remaining_ms: None };
        assert_eq!(entry(&outbox, SLOW).await.unwrap().held, for_good);
        let vitals = database.vitals(&[]).await.unwrap();
        assert_eq!((vitals.paused[0].destination.as_str(), vitals.paused[0].remaining_ms), (SLOW, None));

        // What holds nothing up is told only where all are asked for.
        outbox.sql("INSERT INTO outbox_destination (destination, reason) VALUES ('idle', 'long ago')").await;
        let held = database.destinations(false).await.unwrap();
        assert_eq!(held.iter().map(|entry| entry.destination.as_str()).collect::<Vec<_>>(), ["http", SLOW]);
        assert_eq!(entry(&outbox, "idle").await.unwrap().reason, None);
    }
}

#[tokio::test]
async fn a_breaker_whose_pause_is_over_is_being_tried() {
    for outbox in outboxes::each().await {
        outbox.database.pause("http", Some(Duration::from_millis(1)), &ada("x")).await.unwrap();
        outbox.sql("UPDATE outbox_destination SET pause_kind = 'breaker', failures = 2").await;
        let tried = async || match entry(&outbox, "http").await?.held {
            HeldUp::Broken { remaining_ms: ..=0, .. } => Some(()),
            _ => None,
        };
        eventually("it is being tried", PATIENCE, tried).await;
        assert_eq!(outbox.database.destinations(false).await.unwrap().len(), 1);
        outbox.sql("UPDATE outbox_destination SET failures = 0").await;
        assert_eq!(outbox.database.destinations(false).await.unwrap(), []);
    }
}

#[tokio::test]
async fn a_pause_is_heard_by_the_poller_and_audited_and_a_later_one_takes_its_place() {
    for outbox in outboxes::each().await {
        let database = &outbox.database;
        database.pause(SLOW, None, &ada("first")).await.unwrap();
        let second = database.pause(SLOW, HOUR, &ada("second")).await.unwrap();
        let [heard] = &database.changes_by_hand().await.unwrap()[..] else { panic!("one is heard") };
        let (_, left) = heard.pause.unwrap();
        assert!(left > Duration::from_mins(59) && left <= Duration::from_hours(1), "{left:?}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit WHERE action = 'pause'").await, 2);
        let why = outbox.text(&format!("SELECT why FROM outbox_audit WHERE id = {}", second.audit_id)).await;
        assert_eq!(why, "second");

        let resumed = database.resume(SLOW, &ada("done")).await.unwrap();
        let [later] = &database.changes_by_hand().await.unwrap()[..] else { panic!("one is heard") };
        assert_eq!(later.pause, None);
        assert!(later.stamp > heard.stamp, "it is told from the pause");
        let who = outbox.text(&format!("SELECT who FROM outbox_audit WHERE id = {}", resumed.audit_id.unwrap())).await;
        assert_eq!(who, "ada");
        // There is nothing more to resume.
        assert_eq!(database.resume(SLOW, &ada("again")).await.unwrap().audit_id, None);
        assert_eq!(database.resume("https://nobody.example:443", &ada("?")).await.unwrap().audit_id, None);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_destination").await, 1);
    }
}

#[tokio::test]
async fn resuming_makes_all_rows_due_again_when_they_were_in_whatever_shard_and_no_others() {
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        enqueue(&outbox, "https://slow.example/x", 1_234).await;
        enqueue(&outbox, "https://other.example/x", 2).await;
        outbox.sql("UPDATE outbox SET available_at = created_at").await;
        outbox.database.pause(SLOW, None, &ada("they move")).await.unwrap();
        outbox.database.pause("https://other.example:443", None, &ada("they too")).await.unwrap();
        for name in [SLOW, "https://other.example:443"] {
            put_aside(&outbox, &poller, name, Duration::from_hours(24), Duration::ZERO).await;
        }
        assert_eq!(put_off(&outbox).await, 1_236);
        outbox.sql("UPDATE outbox SET shard = 1 WHERE id % 10 = 0").await;

        let resumed = outbox.database.resume(SLOW, &ada("done")).await.unwrap();
        assert_eq!(resumed.brought_back, 1_234);
        assert_eq!(put_off(&outbox).await, 2);
        let as_they_were = "SELECT count(*) FROM outbox WHERE destination = 'https://slow.example:443' AND available_at = created_at \
             AND attempts = 0 AND revision = 0";
        assert_eq!(outbox.number(as_they_were).await, 1_234);
        assert_eq!(entry(&outbox, SLOW).await.unwrap().held, HeldUp::Open);

        // A breaker and its failures are gone as well.
        let breaker =
            "UPDATE outbox_destination SET pause_kind = 'breaker', failures = 7 WHERE destination LIKE '%other%'";
        outbox.sql(breaker).await;
        assert_eq!(
            outbox.database.resume("http", &ada("?")).await.unwrap().audit_id,
            None,
            "the channel is not held up"
        );
        let resumed = outbox.database.resume("https://other.example:443", &ada("done")).await.unwrap();
        assert_eq!((resumed.brought_back, put_off(&outbox).await), (2, 0));
        assert_eq!(entry(&outbox, "https://other.example:443").await.unwrap().failures, 0);
    }
}

/// A poller that hears of the resumption at once has them locked by then, or has brought them back.
#[tokio::test]
async fn a_resumption_counts_the_rows_that_the_poller_is_faster_to_bring_back() {
    let [outbox, ..] = outboxes::migrated().await;
    let poller = Poller::begin(&outbox.database, "one").await;
    enqueue(&outbox, "https://slow.example/x", 3).await;
    outbox.database.pause(SLOW, None, &ada("they move")).await.unwrap();
    assert_eq!(put_aside(&outbox, &poller, SLOW, Duration::from_hours(24), Duration::ZERO).await, 3);
    let mut faster = PgConnection::connect(&outbox.test.url).await.unwrap();
    let mut bringing_back = faster.begin().await.unwrap();
    sqlx::raw_sql("SELECT FROM outbox FOR UPDATE").execute(&mut *bringing_back).await.unwrap();
    assert_eq!(outbox.database.resume(SLOW, &ada("done")).await.unwrap().brought_back, 3);
}

/// What a target of each kind is for the database and for the client: one origin, or the client refuses it.
#[tokio::test]
async fn each_database_makes_the_destination_of_a_target_that_the_client_dials_or_the_target_is_refused() {
    let long = format!("https://{}.example/", "a.".repeat(120));
    for outbox in outboxes::each().await {
        for (target, plain) in [
            ("https://shop.example/orders?x=https://a:1/", true),
            ("HTTP://Shop.Example:8080/a", true),
            ("https://shop.example", true),
            ("https://shop.example?x=1", true),
            ("https://me:pw@shop.example:444#x", false),
            ("http://[::1]/x", true),
            ("http://[::1]:9000", true),
            ("https://shop.example:/x", false),
            ("http://127.0.0.1:9001\\@127.0.0.1:9000/x", false),
            ("http:/shop.example/x", false),
            ("http:\\\\shop.example/x", false),
            ("http:///shop.example/x", false),
            (" http://shop.example/x", false),
            ("http://shop\t.example/x", false),
            ("http://%31%32%37.0.0.1:9000/", false),
            ("http://2130706433:9000/", false),
            ("http://0x7f.1:9000/", false),
            ("http://shop.example./", false),
            ("http://shop.example:09000/", false),
            ("http://B\u{fc}cher.example/", false),
            ("http://xn--bcher-kva.example/", true),
            ("http://[0:0::1]/", false),
            (&long, false),
        ] {
            // Some of these nobody may enqueue, and plain SQL can.
            outbox.sql("DELETE FROM outbox").await;
            let literal = match outbox.dialect() {
                Dialect::MySql => target.replace('\\', "\\\\"),
                Dialect::Postgres | Dialect::Sqlite => target.to_owned(),
            };
            outbox
                .sql(&format!("INSERT INTO outbox (channel, target, payload) VALUES ('http', '{literal}', '{{}}')"))
                .await;
            let destination = outbox.text("SELECT destination FROM outbox").await;
            assert_eq!(NewMessage::http(target).validate().is_ok(), plain, "{target:?}");
            if plain {
                assert_eq!(origin(target).as_deref(), Some(destination.as_str()), "{target:?}");
            }
            // SQLite lowers ASCII only, and such a name is refused in any case of letters.
            if target.is_ascii() {
                assert_eq!(column(target).unwrap_or_else(|| "http".to_owned()), destination, "{target:?}");
            }
        }
    }
}

/// Their targets, the last recorded first.
async fn gone(outbox: &Outbox, selection: &InvalidTargetSelection) -> Vec<String> {
    let page = outbox.database.invalid_targets(selection, None, 10).await.unwrap();
    page.targets.into_iter().map(|target| target.target).collect()
}

#[tokio::test]
async fn invalid_targets_are_listed_in_pages_and_cleared_by_name_channel_and_age() {
    for outbox in outboxes::each().await {
        for (channel, target) in [("fcm", "a"), ("fcm", "b"), ("hook", "a"), ("hook", "it''s")] {
            let insert = "INSERT INTO outbox_invalid_target (channel, target, reason) VALUES";
            outbox.sql(&format!("{insert} ('{channel}', '{target}', 'UNREGISTERED')")).await;
        }
        let database = &outbox.database;
        let all = InvalidTargetSelection::default();
        let first = database.invalid_targets(&all, None, 3).await.unwrap();
        assert_eq!((first.targets.len(), first.total, first.targets[0].target.as_str()), (3, 4, "it's"));
        assert_eq!(first.targets[0].reason.as_deref(), Some("UNREGISTERED"));
        let rest = database.invalid_targets(&all, first.next, 3).await.unwrap();
        assert_eq!((rest.targets.len(), rest.next, rest.targets[0].channel.as_str()), (1, None, "fcm"));

        let named = |targets: &[&str], channel: Option<&str>, older_than| InvalidTargetSelection {
            targets: targets.iter().map(|&target| target.to_owned()).collect(),
            channel: channel.map(str::to_owned),
            older_than,
        };
        assert_eq!(gone(&outbox, &named(&["a", "it's"], None, None)).await, ["it's", "a", "a"]);
        let old = Some(Moment::Ago(Duration::from_hours(1)));
        assert_eq!(gone(&outbox, &named(&[], None, old)).await, [""; 0]);
        assert_eq!(database.clear_invalid_targets(&named(&[], None, old), &ada("old")).await.unwrap().audit_id, None);

        let cleared = database.clear_invalid_targets(&named(&["a"], Some("fcm"), None), &ada("back")).await.unwrap();
        assert_eq!((cleared.cleared, gone(&outbox, &all).await), (1, ["it's", "a", "b"].map(str::to_owned).to_vec()));
        let audit =
            format!("SELECT why FROM outbox_audit WHERE action = 'clear' AND id = {}", cleared.audit_id.unwrap());
        assert_eq!(outbox.text(&audit).await, "back");
        let long_ago = if outbox.dialect() == Dialect::Sqlite { "978307200000" } else { "'2001-01-01 00:00:00'" };
        outbox.sql(&format!("UPDATE outbox_invalid_target SET observed_at = {long_ago} WHERE target = 'b'")).await;
        let years = Some(Moment::At(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)));
        assert_eq!(database.clear_invalid_targets(&named(&[], None, years), &ada("")).await.unwrap().cleared, 1);
        assert_eq!(gone(&outbox, &all).await, ["it's", "a"]);
        let now = Some(Moment::Ago(Duration::ZERO));
        assert_eq!(
            database.clear_invalid_targets(&named(&["a"], Some("hook"), now), &ada("")).await.unwrap().cleared,
            1
        );
        assert_eq!(database.clear_invalid_targets(&all, &ada("")).await.unwrap().cleared, 1);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit WHERE action = 'clear'").await, 4);
    }
}

#[tokio::test]
async fn many_invalid_targets_are_cleared_batch_by_batch() {
    let [outbox, ..] = outboxes::migrated().await;
    let many =
        "INSERT INTO outbox_invalid_target (channel, target) SELECT 'fcm', n::text FROM generate_series(1, 1500) n";
    outbox.sql(many).await;
    let all = InvalidTargetSelection::default();
    assert_eq!(outbox.database.clear_invalid_targets(&all, &ada("")).await.unwrap().cleared, 1_500);
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_invalid_target").await, 0);
}

#[tokio::test]
async fn a_name_that_is_no_channel_and_no_url_is_refused_with_the_nearest() {
    let outbox = &outboxes::migrated().await[2];
    let program = Program::new(&outbox.test.url, HTTP);
    for name in ["htpp", "https:///x"] {
        let misused = program.run(&["destinations", "pause", name, "--why", "x"]).await.misused();
        assert!(misused.contains("a configured channel (http)") && misused.contains(name), "{misused}");
        assert_eq!(misused.contains("did you mean http?"), name == "htpp", "{misused}");
    }
    let misused = program.run(&["destinations", "pause", "http"]).await.misused();
    assert!(misused.contains("--why"), "{misused}");
    program.run(&["destinations", "pause", "http", "--for", "0s", "--why", "x"]).await.misused();
    program.run(&["invalid-targets", "clear"]).await.misused();
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0);
}

#[tokio::test]
async fn a_destination_that_was_paused_by_command_gets_nothing_until_it_is_resumed() {
    for outbox in outboxes::each().await {
        let [paused, other] = [Sink::start().await, Sink::start().await];
        // A new term would read from the table what this one has to hear.
        let program = Program::new(&outbox.test.url, &format!("[lease]\nterm = \"5m\"\n{HTTP}"));
        let mut replica = program.start();
        replica.says("term.began").await;
        let said = program
            .run(&["destinations", "pause", &paused.url("/x"), "--why", "they move", "--by", "ada"])
            .await
            .done();
        assert!(said.starts_with(&format!("{} is paused until somebody resumes it", paused.url(""))), "{said}");
        replica.says("destination.changed_by_hand").await;
        for (key, sink) in [("late", &paused), ("free", &other)] {
            let message = ["enqueue", "--channel", "http", "--target", &sink.url("/"), "--payload", "{}"];
            program.run(&[&message[..], &["--idempotency-key", key]].concat()).await.done();
        }
        let delivered = async |sink: &Sink| (!sink.keys().is_empty()).then_some(());
        eventually("the other destination gets its own", PATIENCE, async || delivered(&other).await).await;
        let aside = async || (put_off(&outbox).await == 1).then_some(());
        eventually("the row is put aside", PATIENCE, aside).await;
        let listed = program.run(&["destinations", "list", "--json"]).await.json();
        assert_eq!(
            (&listed[0]["state"], &listed[0]["waiting"], &listed[0]["by"]),
            (&json!("paused"), &json!(1), &json!("ada"))
        );
        assert!(paused.keys().is_empty(), "{:?}", paused.keys());

        let resumed = program.run(&["destinations", "resume", &paused.url(""), "--why", "done", "--json"]).await.json();
        assert_eq!(resumed["brought_back"], 1, "{resumed}");
        // Far less than the term lasts.
        let soon = Duration::from_secs(30);
        eventually("it is delivered soon", soon, async || delivered(&paused).await).await;
        let marked =
            async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await == 2).then_some(());
        eventually("both are marked", PATIENCE, marked).await;
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE attempts = 1").await, 2);
        assert_eq!(paused.keys().get("late"), Some(&1));
    }
}

#[tokio::test]
async fn a_channel_that_takes_messages_is_not_among_what_holds_them_up() {
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        enqueue(&outbox, "https://slow.example/x", 3).await;
        put_aside(&outbox, &poller, SLOW, Duration::from_mins(1), Duration::from_secs(1)).await;
        // An earlier pause has left a row of the channel.
        outbox.sql("INSERT INTO outbox_destination (destination) VALUES ('http')").await;
        let held = outbox.database.destinations(false).await.unwrap();
        let names: Vec<_> = held.iter().map(|entry| (entry.destination.as_str(), entry.waiting)).collect();
        assert_eq!(names, [(SLOW, 3)]);
    }
}
