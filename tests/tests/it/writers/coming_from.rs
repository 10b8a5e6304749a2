//! The SQL of outbox-schema/coming-from: from a table that is there already to this outbox, and back.

use std::time::Duration;

use outbox_desk::Desk;
use outbox_store::{DeadReason, Dialect, Verdict};
use outbox_tests::servers;

use crate::changes::cancel_by_key::Application;
use crate::database::grants::SCHEMA;
use crate::outboxes::{self, Outbox};
use crate::poller::Poller;

/// The tables that others have, as far as the SQL reads or writes them.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    HomeMade,
    Debezium,
    /// The tables before 2.0.
    Modulith1,
    Modulith2,
    Namastack,
}

use Source::{Debezium, HomeMade, Modulith1, Modulith2, Namastack};

const SOURCES: [Source; 5] = [HomeMade, Debezium, Modulith1, Modulith2, Namastack];

macro_rules! script {
    ($dialect:expr, $name:literal) => {
        match $dialect {
            Dialect::Postgres => {
                include_str!(concat!("../../../../outbox-schema/coming-from/postgres/", $name, ".sql"))
            }
            Dialect::MySql => include_str!(concat!("../../../../outbox-schema/coming-from/mysql/", $name, ".sql")),
            Dialect::Sqlite => panic!("there is none for SQLite"),
        }
    };
}

/// Somebody's outbox on a server, the application that writes it, and ours beside it.
struct Shop {
    source: Source,
    outbox: Outbox,
    /// The address of an application that has no right but on its own table.
    application: String,
    /// Where ours lies on PostgreSQL.
    schema: &'static str,
    /// Who runs the scripts on PostgreSQL.
    owner: String,
}

/// Each of them on PostgreSQL and on MariaDB.
async fn shops() -> Vec<Shop> {
    let mut shops = Vec::new();
    for source in SOURCES {
        shops.push(Shop::open(source, servers::postgres().await.database().await, "public").await);
        shops.push(Shop::open(source, servers::mariadb().await.database().await, "public").await);
    }
    shops
}

impl Shop {
    async fn open(source: Source, test: servers::TestDatabase, schema: &'static str) -> Self {
        let mut outbox = Outbox::open(test).await;
        if schema != "public" {
            outbox.database = outboxes::connect(&outbox.test.url, Some(schema)).await;
        }
        Box::pin(outbox.database.migrate("default")).await.unwrap();
        let role = format!("shop_{}", &outbox.test.name[outbox.test.name.len() - 12..]);
        let (user, account) = match outbox.dialect() {
            Dialect::Postgres => ("postgres@", format!("CREATE ROLE {role} LOGIN")),
            _ => ("outbox@", format!("CREATE USER {role}")),
        };
        let application = outbox.test.url.replacen(user, &format!("{role}@"), 1);
        let shop = Self { source, outbox, application, schema, owner: "postgres".to_owned() };
        let table = shop.table();
        shop.run(&format!("{};\n{account};\nGRANT SELECT, INSERT, DELETE ON {table} TO {role};", shop.definition()));
        shop
    }

    fn dialect(&self) -> Dialect {
        self.outbox.dialect()
    }

    fn is_modulith(&self) -> bool {
        matches!(self.source, Modulith1 | Modulith2)
    }

    /// Runs a script as the owner, as the head of each file says.
    fn run(&self, script: &str) {
        self.outbox.run_client(&match self.dialect() {
            Dialect::Postgres => {
                let Self { schema, owner, .. } = self;
                // As the files say for tables in a schema of their own.
                let script = script.replace("pg_catalog, public", &format!("pg_catalog, public, {schema}"));
                format!(
                    "SET ROLE {owner}; BEGIN; SET client_min_messages = warning; SET search_path = public, {schema};\n{script}\n\
                     COMMIT;"
                )
            }
            _ => script.to_owned(),
        });
    }

    fn forward(&self) {
        let dialect = self.dialect();
        match self.source {
            HomeMade => self.run(script!(dialect, "home_made")),
            Debezium => self.run(script!(dialect, "debezium")),
            Namastack => self.run(script!(dialect, "namastack")),
            Modulith1 | Modulith2 => {
                self.run(script!(dialect, "modulith"));
                self.run(script!(dialect, "modulith_waiting"));
            }
        }
    }

    fn back(&self) {
        let dialect = self.dialect();
        self.run(match self.source {
            HomeMade => script!(dialect, "home_made_back"),
            Debezium => script!(dialect, "debezium_back"),
            Namastack => script!(dialect, "namastack_back"),
            Modulith1 | Modulith2 => script!(dialect, "modulith_back"),
        });
    }

    fn table(&self) -> &'static str {
        match self.source {
            HomeMade => "outbox_events",
            Debezium => "outboxevent",
            Namastack => "outbox_record",
            // Names of tables have a case on MySQL.
            Modulith1 | Modulith2 if self.dialect() == Dialect::MySql => "EVENT_PUBLICATION",
            Modulith1 | Modulith2 => "event_publication",
        }
    }

    /// Their table.
    fn definition(&self) -> String {
        let postgres = self.dialect() == Dialect::Postgres;
        let pick = |on_postgres: &'static str, on_mysql: &'static str| if postgres { on_postgres } else { on_mysql };
        let id = pick("uuid", "varchar(36)");
        let time = pick("timestamptz NULL", "timestamp(6) NULL");
        let text = pick("text", "varchar(512)");
        let columns = match self.source {
            HomeMade => format!(
                "id {}, aggregate_id varchar(255), event_type varchar(255) NOT NULL, payload text NOT NULL,
                 status varchar(16) NOT NULL DEFAULT 'PENDING', retry_count integer NOT NULL DEFAULT 0,
                 created_at timestamp DEFAULT CURRENT_TIMESTAMP, sent_at {time}",
                pick("bigint GENERATED BY DEFAULT AS IDENTITY", "bigint NOT NULL AUTO_INCREMENT")
            ),
            Debezium => format!(
                "id {id} NOT NULL, aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,
                 type varchar(255) NOT NULL, payload {}",
                pick("jsonb", "json")
            ),
            Modulith1 | Modulith2 => format!(
                "id {id} NOT NULL, listener_id {text} NOT NULL, event_type {text} NOT NULL,
                 serialized_event {} NOT NULL, publication_date {time}, completion_date {time} {}",
                pick("text", "varchar(4000)"),
                if self.source == Modulith1 {
                    String::new()
                } else {
                    format!(", status varchar(20), completion_attempts int, last_resubmission_date {time}")
                }
            ),
            Namastack => format!(
                "id varchar(255) NOT NULL, status varchar(20) NOT NULL, record_key varchar(255) NOT NULL,
                 record_type varchar(255) NOT NULL, payload {long} NOT NULL, context {long}, created_at {time},
                 completed_at {time}, failure_count int NOT NULL, failure_reason varchar(1000), next_retry_at {time},
                 partition_no int NOT NULL, handler_id varchar(1000) NOT NULL",
                long = pick("text", "longtext")
            ),
        };
        format!("CREATE TABLE {} ({columns}, PRIMARY KEY (id))", self.table())
    }

    /// What the application writes: an event that has a route, as it would be sent by the old publisher.
    fn event(&self, number: u32, payload: &str) -> String {
        match self.source {
            HomeMade => self.home_made(number, "order.placed", payload, "PENDING"),
            Debezium => self.debezium(number, "order", payload),
            Modulith1 | Modulith2 => self.modulith(number, "order-webhook", payload, "NULL"),
            Namastack => self.namastack(number, "shop.OrderHandler#handle(shop.OrderPlaced)", payload, "NEW"),
        }
    }

    /// One that was written before ours was there.
    fn event_of_before(&self, number: u32) -> String {
        if self.is_modulith() {
            self.modulith(number, FORMER, &order(number), "NULL")
        } else {
            self.event(number, &order(number))
        }
    }

    /// One that the old publisher has sent.
    fn sent_event(&self, number: u32) -> Option<String> {
        match self.source {
            HomeMade => Some(self.home_made(number, "order.placed", &order(number), "SUCCESS")),
            // The log alone knows.
            Debezium => None,
            Modulith1 | Modulith2 => Some(self.modulith(number, FORMER, &order(number), "'2026-01-02 03:04:06'")),
            Namastack => {
                Some(self.namastack(number, "shop.OrderHandler#handle(shop.OrderPlaced)", &order(number), "COMPLETED"))
            }
        }
    }

    /// One that has no route.
    fn event_of_others(&self, number: u32) -> String {
        match self.source {
            HomeMade => self.home_made(number, "customer.moved", &order(number), "PENDING"),
            Debezium => self.debezium(number, "supplier", &order(number)),
            Modulith1 | Modulith2 => self.modulith(number, "shop.Mails.on(shop.OrderPlaced)", &order(number), "NULL"),
            Namastack => self.namastack(number, "shop.MailHandler#handle(shop.OrderPlaced)", &order(number), "NEW"),
        }
    }

    fn home_made(&self, number: u32, event_type: &str, payload: &str, status: &str) -> String {
        format!(
            "INSERT INTO {} (id, aggregate_id, event_type, payload, status)
             VALUES ({number}, 'order-{number}', '{event_type}', '{payload}', '{status}')",
            self.table()
        )
    }

    fn debezium(&self, number: u32, aggregate: &str, payload: &str) -> String {
        format!(
            "INSERT INTO {} (id, aggregatetype, aggregateid, type, payload)
             VALUES ('{}', '{aggregate}', '{number}', 'placed', '{payload}')",
            self.table(),
            uuid(number)
        )
    }

    fn modulith(&self, number: u32, listener: &str, payload: &str, completed: &str) -> String {
        let (status, value) = match (self.source, completed) {
            (Modulith1, _) => ("", ""),
            (_, "NULL") => (", status", ", 'PUBLISHED'"),
            _ => (", status", ", 'COMPLETED'"),
        };
        format!(
            "INSERT INTO {} (id, listener_id, event_type, serialized_event, publication_date, completion_date{status})
             VALUES ('{}', '{listener}', 'shop.OrderPlaced', '{payload}', '2026-01-02 03:04:05', {completed}{value})",
            self.table(),
            uuid(number)
        )
    }

    fn namastack(&self, number: u32, handler: &str, payload: &str, status: &str) -> String {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let id = uuid(number);
        format!(
            "INSERT INTO {} (id, status, record_key, record_type, payload, context, created_at, failure_count,
                             next_retry_at, partition_no, handler_id)
             VALUES ('{id}', '{status}', 'order-{number}', 'shop.OrderPlaced', '{payload}',
                     '{{\"traceparent\": \"{trace}\"}}', '2026-01-02 03:04:05', 0, '2026-01-02 03:04:05', 7, '{handler}')",
            self.table()
        )
    }

    fn key(&self, number: u32) -> String {
        if self.source == HomeMade { format!("outbox_events-{number}") } else { uuid(number) }
    }

    fn keys(&self, numbers: &[u32]) -> Vec<String> {
        numbers.iter().map(|number| self.key(*number)).collect()
    }

    async fn application(&self) -> Application {
        Application::connect(&self.application).await
    }

    /// The keys of the messages that wait, in their order.
    async fn pending(&self) -> Vec<String> {
        let list = match self.dialect() {
            Dialect::Postgres => "string_agg(idempotency_key, ' ' ORDER BY id)",
            _ => "GROUP_CONCAT(idempotency_key ORDER BY id SEPARATOR ' ')",
        };
        let sql = format!("SELECT coalesce({list}, '') FROM outbox WHERE status = 'PENDING'");
        self.outbox.text(&sql).await.split_whitespace().map(str::to_owned).collect()
    }

    /// The body of an event's message.
    async fn payload(&self, number: u32) -> String {
        let sql =
            format!("SELECT CAST(payload AS char(99)) FROM outbox WHERE idempotency_key = '{}'", self.key(number));
        self.outbox.text(&sql).await
    }

    /// The numbers of the events that the old publisher would send.
    async fn left_to_the_old_publisher(&self) -> Vec<u32> {
        let waits = match self.source {
            HomeMade => "status = 'PENDING'",
            // Debezium has what is in the log.
            Debezium => "1 = 0",
            Modulith1 => "completion_date IS NULL",
            Modulith2 => "completion_date IS NULL AND status IN ('PUBLISHED', 'FAILED')",
            Namastack => "status = 'NEW' AND completed_at IS NULL",
        };
        let mut left = Vec::new();
        for number in 1..=9 {
            let id = if self.source == HomeMade { number.to_string() } else { uuid(number) };
            let schema = if self.dialect() == Dialect::Postgres { "public." } else { "" };
            let sql = format!("SELECT count(*) FROM {schema}{} WHERE id = '{id}' AND {waits}", self.table());
            if self.outbox.number(&sql).await == 1 {
                left.push(number);
            }
        }
        left
    }

    async fn status(&self, number: u32) -> String {
        let id = if self.source == HomeMade { number.to_string() } else { uuid(number) };
        self.outbox.text(&format!("SELECT status FROM {} WHERE id = '{id}'", self.table())).await
    }
}

/// The id of a listener that sends by itself.
const FORMER: &str = "shop.Webhooks.on(shop.OrderPlaced)";

fn uuid(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn order(number: u32) -> String {
    format!("{{\"order\": {number}}}")
}

#[tokio::test]
async fn an_event_is_one_message_in_the_transaction_of_an_application_that_has_no_right_on_the_outbox() {
    for shop in shops().await {
        shop.forward();
        let mut application = shop.application().await;
        application.run("BEGIN").await.unwrap();
        application.run(&shop.event(1, &order(1))).await.unwrap();
        application.run("ROLLBACK").await.unwrap();
        assert!(shop.pending().await.is_empty(), "{:?}", shop.source);

        for number in [2, 3] {
            application.run(&shop.event(number, &order(number))).await.unwrap();
        }
        application.run(&shop.event_of_others(4)).await.unwrap();
        // Debezium's way: nothing is left of the row.
        application.run("BEGIN").await.unwrap();
        application.run(&shop.event(5, &order(5))).await.unwrap();
        application.run(&format!("DELETE FROM {}", shop.table())).await.unwrap();
        application.run("COMMIT").await.unwrap();
        // An insert that is skipped, for its key is known, and one that is not, for the event is a message already.
        application.run(&shop.event(6, &order(6))).await.unwrap();
        let again = shop.event(6, &order(6));
        let skipped = match shop.dialect() {
            Dialect::Postgres => format!("{again} ON CONFLICT DO NOTHING"),
            _ => again.replacen("INSERT", "INSERT IGNORE", 1),
        };
        application.run(&skipped).await.unwrap();
        application.run(&shop.event(2, &order(2))).await.unwrap();
        // What is gone at the commit is no message where the message is made then.
        let at_the_commit = shop.dialect() == Dialect::Postgres && matches!(shop.source, HomeMade | Namastack);
        let messages: &[u32] = if at_the_commit { &[2, 3, 6] } else { &[2, 3, 5, 6] };
        assert_eq!(shop.pending().await, shop.keys(messages), "{:?} on {:?}", shop.source, shop.dialect());

        let (_, messages) = Poller::begin(&shop.outbox.database, "one").await.claim().await;
        let message = messages.iter().find(|message| message.idempotency_key == shop.key(2)).unwrap();
        let record = shop.outbox.database.message(message.id()).await.unwrap().unwrap();
        assert_eq!((record.channel.as_str(), record.target.as_str()), ("http", "/hooks/orders"));
        assert_eq!(record.payload, Some(order(2)));
        let ordering = match shop.source {
            HomeMade | Namastack => Some("order-2"),
            Debezium => Some("order/2"),
            Modulith1 | Modulith2 => None,
        };
        assert_eq!(record.ordering_key.as_deref(), ordering);
        let headers = record.headers.unwrap();
        let kind = match shop.source {
            HomeMade => r#""X-Event-Type": "order.placed""#,
            Debezium => r#""X-Event-Type": "placed""#,
            Modulith1 | Modulith2 => r#""X-Event-Type": "shop.OrderPlaced""#,
            Namastack => r#""X-Record-Type": "shop.OrderPlaced""#,
        };
        assert!(headers.contains(kind), "{headers}");
        assert_eq!(record.traceparent.is_some(), shop.source == Namastack);

        for sql in [
            "INSERT INTO outbox (channel, target, payload) VALUES ('http', '/hook', '{}')",
            "SELECT 1 FROM outbox",
            "SELECT 1 FROM outbox_from_events",
            "SELECT 1 FROM outbox_events_route",
        ] {
            let told = application.run(sql).await.expect_err(sql).to_string();
            let denied = ["permission denied", "command denied", "does not exist"];
            assert!(denied.iter().any(|words| told.contains(words)), "{sql}: {told}");
        }
    }
}

/// As Hibernate does with an entity that is touched after `persist`: it writes all columns once more.
#[tokio::test]
async fn a_row_that_is_updated_in_its_transaction_is_one_message_with_the_body_of_the_commit() {
    for shop in shops().await.into_iter().filter(|shop| matches!(shop.source, HomeMade | Namastack)) {
        shop.forward();
        let touched = |number: u32| match shop.source {
            HomeMade => format!(
                "UPDATE outbox_events SET aggregate_id = 'order-9', event_type = 'order.placed', payload = '{}',
                 status = 'PENDING', retry_count = 0, sent_at = NULL WHERE id = {number}",
                order(9)
            ),
            _ => format!(
                "UPDATE outbox_record SET payload = '{}', status = 'NEW', completed_at = NULL WHERE id = '{}'",
                order(9),
                uuid(number)
            ),
        };
        shop.outbox.run_client(&format!("BEGIN;\n{};\n{};\nCOMMIT;", shop.event(1, &order(1)), touched(1)));
        let of = format!("{:?} on {:?}", shop.source, shop.dialect());
        assert_eq!(shop.pending().await, shop.keys(&[1]), "{of}");
        assert!(shop.left_to_the_old_publisher().await.is_empty(), "{of}");
        let (_, messages) = Poller::begin(&shop.outbox.database, "one").await.claim().await;
        let record = shop.outbox.database.message(messages[0].id()).await.unwrap().unwrap();
        assert_eq!(record.payload, Some(order(9)), "{of}");
    }
}

/// A claim is seen also where the transaction's snapshot is older.
#[tokio::test]
async fn a_message_that_was_claimed_since_the_snapshot_is_not_changed_on_mysql() {
    for source in [HomeMade, Namastack] {
        let shop = Shop::open(source, servers::mariadb().await.database().await, "public").await;
        shop.forward();
        let (id, second) = if source == HomeMade { ("1".to_owned(), "2".to_owned()) } else { (uuid(1), uuid(2)) };
        let touched =
            |id: &str, number| format!("UPDATE {} SET payload = '{}' WHERE id = '{id}'", shop.table(), order(number));
        let mut application = shop.application().await;
        application.run(&shop.event(1, &order(1))).await.unwrap();
        let mut other = Application::connect(&shop.outbox.test.url).await;
        other.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").await.unwrap();
        let snapshot = format!("SELECT count(*) FROM {}", shop.table());

        // Nobody has it: it becomes what the row is now, where the server lets a transaction look for newer rows.
        let version = shop.outbox.text("SELECT CAST(VERSION() AS char)").await;
        let looks = !version.contains("MariaDB") || version.starts_with("10.");
        let known = if looks { order(7) } else { order(1) };
        other.run("BEGIN").await.unwrap();
        other.run(&snapshot).await.unwrap();
        other.run(&touched(&id, 7)).await.unwrap();
        other.run("COMMIT").await.unwrap();
        assert_eq!(shop.payload(1).await, known, "{source:?}");

        other.run("BEGIN").await.unwrap();
        other.run(&snapshot).await.unwrap();
        let poller = Poller::begin(&shop.outbox.database, "one").await;
        assert_eq!(poller.claim().await.1.len(), 1);
        other.run(&touched(&id, 8)).await.unwrap();
        other.run("COMMIT").await.unwrap();
        assert_eq!(shop.payload(1).await, known, "{source:?}");

        // A row of this transaction's own is changed without a lock for which claims would wait.
        other.run("BEGIN").await.unwrap();
        other.run(&snapshot).await.unwrap();
        other.run(&shop.event(2, &order(2))).await.unwrap();
        other.run(&touched(&second, 9)).await.unwrap();
        application.run(&shop.event(3, &order(3))).await.unwrap();
        let claimed = tokio::time::timeout(Duration::from_secs(5), poller.claim()).await;
        let (_, claimed) = claimed.expect("a claim that does not wait");
        assert!(claimed.iter().any(|message| message.idempotency_key == shop.key(3)), "{source:?}");
        other.run("COMMIT").await.unwrap();
        assert_eq!(shop.payload(2).await, order(9), "{source:?}");
    }
}

/// A file whose view gives two messages of each row, as one for each device of a member, and none of event 7.
fn of_devices(shop: &Shop, script: &str) -> String {
    let (column, seventh) = match shop.source {
        HomeMade => ("aggregate_id", "order-7"),
        Debezium => ("aggregateid", "7"),
        Modulith1 | Modulith2 => ("serialized_event", r#"{"order": 7}"#),
        Namastack => ("record_key", "order-7"),
    };
    let (before, view) = script.split_once(&format!("FROM {} e ", shop.table())).unwrap();
    let (join, after) = view.split_once(';').unwrap();
    let key = before.lines().find(|line| line.contains(" AS idempotency_key,")).unwrap();
    let of_device = key.trim_start().replace(" AS idempotency_key,", ", '-', d.n) AS idempotency_key,");
    format!(
        "{}FROM {} e {join} CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2) d WHERE e.{column} <> '{seventh}';{after}",
        before.replace(key, &format!("concat({of_device}")),
        shop.table()
    )
}

#[tokio::test]
async fn a_row_of_several_messages_goes_back_as_a_whole_and_one_of_none_fails_its_insert_or_stays() {
    for shop in shops().await {
        let where_ = format!("{:?} on {:?}", shop.source, shop.dialect());
        let script = of_devices(
            &shop,
            match shop.source {
                HomeMade => script!(shop.dialect(), "home_made"),
                Debezium => script!(shop.dialect(), "debezium"),
                Modulith1 | Modulith2 => script!(shop.dialect(), "modulith"),
                Namastack => script!(shop.dialect(), "namastack"),
            },
        );
        shop.run(&script);
        let mut application = shop.application().await;
        application.run(&shop.event(1, &order(1))).await.unwrap();
        let both = [1, 2].map(|device| format!("{}-{device}", shop.key(1)));
        assert_eq!(shop.pending().await, both, "{where_}");
        let told = application.run(&shop.event(7, &order(7))).await.unwrap_err().to_string();
        let id = if shop.source == HomeMade { "7".to_owned() } else { uuid(7) };
        assert!(told.contains(&format!("row {id} of {}", shop.table())), "{where_}: {told}");

        // By the choice in the file's head.
        let stays = if shop.dialect() == Dialect::Postgres {
            script.replace("CONSTANT text := 'fails'", "CONSTANT text := 'stays'")
        } else {
            let (before, function) = script.split_once("RETURN EXISTS (SELECT 1 FROM ").unwrap();
            let (route, after) = function.split_once(");").unwrap();
            let second = before.rsplit_once(", p_").unwrap().1.split(' ').next().unwrap();
            format!("{before}RETURN EXISTS (SELECT 1 FROM {route}) AND p_{second} NOT LIKE '%7%';{after}")
        };
        assert_ne!(stays, script);
        shop.run(&stays);
        application.run(&shop.event(7, &order(7))).await.unwrap();
        assert_eq!(shop.pending().await, both, "{where_}");
        let left: &[u32] = match shop.source {
            HomeMade | Namastack => &[7],
            Debezium => &[],
            // The application's own listener completes both.
            Modulith1 | Modulith2 => &[1, 7],
        };
        assert_eq!(shop.left_to_the_old_publisher().await, left, "{where_}");
        if shop.is_modulith() {
            let status = if shop.source == Modulith2 { ", status = 'COMPLETED'" } else { "" };
            shop.outbox.sql(&format!("UPDATE {} SET completion_date = publication_date {status}", shop.table())).await;
            // One of a former listener: it has nobody else, so it is not completed.
            application.run(&shop.modulith(8, FORMER, &order(7), "NULL")).await.unwrap();
            shop.run(script!(shop.dialect(), "modulith_waiting"));
            assert_eq!(shop.left_to_the_old_publisher().await, [8], "{where_}");
        }

        let poller = Poller::begin(&shop.outbox.database, "one").await;
        let (claim, messages) = poller.claim().await;
        poller.mark_some(claim, &messages[..1], &Verdict::Success { receipt: None }, &[]).await;
        poller.mark(claim, &messages[1..], &Verdict::Retry { after: Duration::from_hours(1) }).await;
        shop.back();
        assert_eq!(shop.pending().await, both[1..], "{where_}");
        assert!(!shop.left_to_the_old_publisher().await.contains(&1), "{where_}");
    }
}

#[tokio::test]
async fn what_waits_becomes_a_message_once_and_what_was_sent_or_has_no_route_does_not() {
    for shop in shops().await {
        let mut application = shop.application().await;
        for number in [7, 2] {
            application.run(&shop.event_of_before(number)).await.unwrap();
        }
        if let Some(sent) = shop.sent_event(3) {
            application.run(&sent).await.unwrap();
        }
        application.run(&shop.event_of_others(4)).await.unwrap();
        shop.forward();
        // Again, as after another route.
        shop.forward();
        application.run(&shop.event(8, &order(8))).await.unwrap();
        let messages: &[u32] = if shop.source == Debezium { &[8] } else { &[2, 7, 8] };
        assert_eq!(shop.pending().await, shop.keys(messages), "{:?} on {:?}", shop.source, shop.dialect());
        let left: &[u32] = match shop.source {
            Debezium => &[],
            // The application's own listener, which does nothing now, completes it.
            Modulith1 | Modulith2 => &[4, 8],
            HomeMade | Namastack => &[4],
        };
        assert_eq!(shop.left_to_the_old_publisher().await, left, "{:?} on {:?}", shop.source, shop.dialect());
    }
}

#[tokio::test]
async fn an_event_that_cannot_become_a_message_is_refused_by_name_and_leaves_nothing() {
    // Debezium's column takes nothing but JSON.
    for shop in shops().await.into_iter().filter(|shop| shop.source != Debezium) {
        shop.forward();
        let mut application = shop.application().await;
        let told = application.run(&shop.event(1, "<order/>")).await.unwrap_err().to_string();
        let id = if shop.source == HomeMade { "1".to_owned() } else { uuid(1) };
        assert!(told.contains(&format!("row {id} of {}", shop.table())), "{told}");
        // PostgreSQL's, MySQL's and MariaDB's words.
        let causes = ["invalid input syntax for type json", "Invalid JSON text", "CONSTRAINT `outbox.payload` failed"];
        assert!(causes.iter().any(|cause| told.contains(cause)), "{told}");
        let rows = format!("SELECT count(*) FROM {}", shop.table());
        assert_eq!(shop.outbox.number(&rows).await, 0);
        assert!(shop.pending().await.is_empty());
    }
}

#[tokio::test]
async fn a_row_that_waits_and_cannot_become_a_message_is_named_on_postgres() {
    let shop = Shop::open(HomeMade, servers::postgres().await.database().await, "public").await;
    shop.application().await.run(&shop.event(1, "<order/>")).await.unwrap();
    let script = format!("SET search_path = public;\n{}", script!(Dialect::Postgres, "home_made"));
    let told = shop.outbox.try_sql(&format!("BEGIN; {script}; COMMIT")).await.unwrap_err().to_string();
    assert!(told.contains("row 1 of outbox_events cannot become a message: "), "{told}");
}

/// As with the roles of docs/deploy.md: nobody owns both tables.
#[tokio::test]
async fn the_owner_of_the_outbox_who_has_the_rights_of_the_application_goes_there_and_back_on_postgres() {
    for source in SOURCES {
        let outbox = Outbox::open(servers::postgres().await.database().await).await;
        let unique = &outbox.test.name[outbox.test.name.len() - 12..];
        let [owner, role] = ["own", "shop"].map(|role| format!("{role}_{unique}"));
        let url = |role: &str| outbox.test.url.replacen("postgres@", &format!("{role}@"), 1);
        let application = url(&role);
        outbox.run_client(&format!(
            "CREATE ROLE {owner} LOGIN; CREATE ROLE {role} LOGIN; GRANT {role} TO {owner};\n\
             GRANT CREATE ON SCHEMA public TO {owner}, {role};"
        ));
        outboxes::connect(&url(&owner), None).await.migrate("default").await.unwrap();
        let mut shop = Shop { source, outbox, application, schema: "public", owner: role };
        shop.run(&format!("{};", shop.definition()));
        shop.owner = owner;
        let mut application = shop.application().await;
        application.run(&shop.event_of_before(1)).await.unwrap();
        shop.forward();
        application.run(&shop.event(2, &order(2))).await.unwrap();
        let messages: &[u32] = if source == Debezium { &[2] } else { &[1, 2] };
        assert_eq!(shop.pending().await, shop.keys(messages), "{source:?}");
        shop.back();
        let messages: &[u32] = if source == Debezium { &[2] } else { &[] };
        assert_eq!(shop.pending().await, shop.keys(messages), "{source:?}");
    }
}

#[tokio::test]
async fn going_back_gives_back_what_was_not_sent_and_nothing_else() {
    for shop in shops().await {
        shop.forward();
        let mut application = shop.application().await;
        let poller = Poller::begin(&shop.outbox.database, "one").await;
        application.run(&shop.event(1, &order(1))).await.unwrap();
        let (claim, messages) = poller.claim().await;
        poller.mark(claim, &messages, &Verdict::Success { receipt: None }).await;
        application.run(&shop.event(2, &order(2))).await.unwrap();
        let (claim, messages) = poller.claim().await;
        let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
        poller.mark(claim, &messages, &dead).await;
        // One that was tried and waits, one that may be on its way, and a new one.
        application.run(&shop.event(3, &order(3))).await.unwrap();
        let (claim, messages) = poller.claim().await;
        poller.mark(claim, &messages, &Verdict::Retry { after: Duration::from_hours(1) }).await;
        application.run(&shop.event(4, &order(4))).await.unwrap();
        let (_, on_its_way) = poller.claim().await;
        assert_eq!(on_its_way.len(), 1);
        assert_eq!(on_its_way[0].idempotency_key, shop.key(4));
        application.run(&shop.event(5, &order(5))).await.unwrap();
        if shop.is_modulith() {
            // The application's own listener did nothing.
            let status = if shop.source == Modulith2 { ", status = 'COMPLETED'" } else { "" };
            shop.outbox.sql(&format!("UPDATE {} SET completion_date = publication_date {status}", shop.table())).await;
        }
        assert_eq!(shop.pending().await, shop.keys(&[3, 4, 5]));

        shop.back();
        let (messages, left): (&[u32], &[u32]) = match shop.source {
            Debezium => (&[3, 4, 5], &[]),
            _ => (&[4], &[3, 5]),
        };
        let where_ = format!("{:?} on {:?}", shop.source, shop.dialect());
        assert_eq!(shop.pending().await, shop.keys(messages), "{where_}");
        assert_eq!(shop.left_to_the_old_publisher().await, left, "{where_}");
        let audited = "SELECT count(*) FROM outbox_audit WHERE action = 'cancel' AND why LIKE 'back to %'";
        assert_eq!(shop.outbox.number(audited).await, i64::try_from(left.len()).unwrap(), "{where_}");
        match shop.source {
            HomeMade => assert_eq!([shop.status(1).await, shop.status(2).await], ["SUCCESS", "FAILED"], "{where_}"),
            Namastack => {
                assert_eq!([shop.status(1).await, shop.status(2).await], ["COMPLETED", "FAILED"], "{where_}");
            }
            _ => {}
        }
        // New events are the old publisher's.
        application.run(&shop.event_of_before(6)).await.unwrap();
        assert_eq!(shop.pending().await, shop.keys(messages), "{where_}");

        // And forward once more: what was given back is a message again, and only that.
        shop.forward();
        let messages: &[u32] = if shop.source == Debezium { &[3, 4, 5] } else { &[4, 3, 5, 6] };
        assert_eq!(shop.pending().await, shop.keys(messages), "{where_}");
    }
}

#[tokio::test]
async fn without_its_taking_back_the_dispatcher_sends_what_waits() {
    for shop in shops().await {
        shop.forward();
        shop.application().await.run(&shop.event(1, &order(1))).await.unwrap();
        let dialect = shop.dialect();
        // As the files say: without the statement, or all up to COMMIT.
        let without = |script: &str| {
            if dialect == Dialect::Postgres {
                let (before, rest) = script.split_once("-- Leave this statement out").unwrap();
                format!("{before}{}", rest.split_once("$$;\n").unwrap().1)
            } else {
                let (before, rest) = script.split_once("-- Leave all up to COMMIT out").unwrap();
                let after = rest.split_once("COMMIT;\n").unwrap().1;
                format!("{before}{}", &after[after.find("DROP VIEW").unwrap()..])
            }
        };
        shop.run(&match shop.source {
            HomeMade => without(script!(dialect, "home_made_back")),
            Namastack => without(script!(dialect, "namastack_back")),
            Modulith1 | Modulith2 => without(script!(dialect, "modulith_back")),
            Debezium => script!(dialect, "debezium_back").to_owned(),
        });
        let (_, messages) = Poller::begin(&shop.outbox.database, "one").await.claim().await;
        assert_eq!(messages.len(), 1, "{:?} on {dialect:?}", shop.source);
    }
}

/// Old and new processes of an application run side by side while it is deployed: each sends what is its own.
#[tokio::test]
async fn a_publication_for_a_former_listener_is_sent_by_that_until_its_last_process_is_gone() {
    for shop in shops().await.into_iter().filter(Shop::is_modulith) {
        let dialect = shop.dialect();
        shop.run(script!(dialect, "modulith"));
        let mut application = shop.application().await;
        application.run(&shop.event_of_before(1)).await.unwrap();
        application.run(&shop.event(2, &order(2))).await.unwrap();
        assert_eq!(shop.pending().await, shop.keys(&[2]));
        shop.run(script!(dialect, "modulith_waiting"));
        assert_eq!(shop.pending().await, shop.keys(&[2, 1]));
    }
}

#[tokio::test]
async fn the_tables_of_the_outbox_may_lie_in_a_schema_of_their_own() {
    for source in SOURCES {
        let shop = Shop::open(source, servers::postgres().await.database().await, SCHEMA).await;
        let mut application = shop.application().await;
        application.run(&shop.event_of_before(1)).await.unwrap();
        shop.forward();
        application.run(&shop.event(2, &order(2))).await.unwrap();
        let messages: &[u32] = if source == Debezium { &[2] } else { &[1, 2] };
        assert_eq!(shop.pending().await, shop.keys(messages), "{source:?}");
        shop.back();
        let messages: &[u32] = if source == Debezium { &[2] } else { &[] };
        assert_eq!(shop.pending().await, shop.keys(messages), "{source:?}");
    }
}
