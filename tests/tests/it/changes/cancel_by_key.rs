//! An application takes a message back in a transaction of its own, with the SQL of docs/enqueue.md.

use std::time::Duration;

use outbox_desk::{Desk, MessageRecord};
use outbox_schema::NewMessage;
use outbox_store::{Dialect, Verdict};
use outbox_tests::eventually;
use outbox_tests::receiver::Receiver;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection, Row, SqliteConnection};

use crate::database::grants::{self, SCHEMA};
use crate::outboxes::{self, Outbox, Step};
use crate::poller::Poller;
use crate::program::{PATIENCE, Program};

const DOCUMENTED: &str = include_str!("../../../../docs/enqueue.md");

/// The key in the documented SQL.
const KEY: &str = "order-4711-reminder";

/// So often a message is taken back while it is claimed; if one side never came first by then, up to [`MOST_ROUNDS`] times.
const ROUNDS: u64 = 150;

/// By then each side has been so late now and then that the other must have come first, on whatever machine.
const MOST_ROUNDS: u64 = 10 * ROUNDS;

/// Much longer than a claim takes, and much shorter than a transaction is kept open.
const PROMPTLY: Duration = Duration::from_secs(3);

/// The SQL that the section gives for a database.
pub(crate) fn documented(section: &str, dialect: Dialect) -> &'static str {
    let section = DOCUMENTED.split("\n## ").find(|text| text.starts_with(section)).unwrap();
    let names = match dialect {
        Dialect::Postgres => ["\nPostgreSQL", "\nPostgreSQL"],
        Dialect::MySql => ["\nMySQL", "\nMySQL"],
        Dialect::Sqlite => ["\nSQLite", "\nPostgreSQL and SQLite"],
    };
    let after = names.into_iter().find_map(|name| section.split_once(name)).unwrap().1;
    after.split_once("```sql\n").unwrap().1.split_once("```").unwrap().0
}

/// An application's connection.
pub(crate) enum Application {
    Postgres(PgConnection),
    MySql(MySqlConnection),
    Sqlite(SqliteConnection),
}

impl Application {
    pub(crate) async fn connect(url: &str) -> Self {
        match url.split(':').next() {
            Some("postgres") => Self::Postgres(PgConnection::connect(url).await.unwrap()),
            Some("mysql") => Self::MySql(MySqlConnection::connect(url).await.unwrap()),
            _ => Self::Sqlite(SqliteConnection::connect(url).await.unwrap()),
        }
    }

    pub(crate) async fn run(&mut self, sql: &str) -> sqlx::Result<u64> {
        let script = sqlx::raw_sql(AssertSqlSafe(sql));
        match self {
            Self::Postgres(connection) => script.execute(connection).await.map(|done| done.rows_affected()),
            Self::MySql(connection) => script.execute(connection).await.map(|done| done.rows_affected()),
            Self::Sqlite(connection) => script.execute(connection).await.map(|done| done.rows_affected()),
        }
    }

    /// Begins a transaction of the isolation that the documentation asks for.
    async fn begin(&mut self) {
        if let Self::MySql(_) = self {
            self.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await.unwrap();
        }
        self.run("BEGIN").await.unwrap();
    }

    /// Cancels the message of `key`, in the words of the documentation.
    async fn cancel(&mut self, key: &str) -> sqlx::Result<bool> {
        let sql = |dialect| documented("Taking a message back", dialect).replace(KEY, key);
        match self {
            Self::Postgres(connection) => {
                sqlx::query_scalar(AssertSqlSafe(sql(Dialect::Postgres))).fetch_one(connection).await
            }
            Self::MySql(connection) => {
                let row = sqlx::raw_sql(AssertSqlSafe(sql(Dialect::MySql))).fetch_one(connection).await?;
                Ok(row.get::<i64, _>("cancelled") == 1)
            }
            Self::Sqlite(connection) => {
                let sql = sql(Dialect::Sqlite);
                let (update, audit) = sql.split_once(';').unwrap();
                sqlx::raw_sql(AssertSqlSafe(update)).execute(&mut *connection).await?;
                let audited = sqlx::raw_sql(AssertSqlSafe(audit)).execute(&mut *connection).await?;
                Ok(audited.rows_affected() == 1)
            }
        }
    }
}

/// An outbox, and the address under which the application that may cancel reaches it.
struct Shop {
    outbox: Outbox,
    application: String,
}

/// On PostgreSQL and MariaDB with a role of its own. SQLite has no roles.
async fn shops() -> [Shop; 3] {
    let [postgres, mysql] = grants::granted().await.map(|granted| {
        granted.owner.run_client(&script(granted.owner.dialect(), &granted.application_role));
        Shop { outbox: granted.owner, application: granted.application }
    });
    let [_, _, sqlite] = outboxes::migrated().await;
    [postgres, mysql, Shop { application: sqlite.test.url.clone(), outbox: sqlite }]
}

fn script(dialect: Dialect, role: &str) -> String {
    match dialect {
        Dialect::Postgres => format!(
            "\\set schema {SCHEMA}\n\\set application {role}\n{}",
            include_str!("../../../../outbox-schema/grants/postgres_cancel.sql")
        ),
        Dialect::MySql => include_str!("../../../../outbox-schema/grants/mysql_cancel.sql")
            .replace("APPLICATION", &format!("'{role}'@'%'")),
        Dialect::Sqlite => String::new(),
    }
}

impl Shop {
    async fn enqueue(&self, keys: &[&str]) {
        let messages: Vec<_> =
            keys.iter().map(|key| NewMessage::http("https://shop.example/hook").idempotency_key(*key)).collect();
        self.enqueue_all(&messages).await;
    }

    async fn enqueue_all(&self, messages: &[NewMessage]) {
        let answers = outboxes::transaction(&self.application, &[Step::Enqueue(messages)], "COMMIT").await;
        assert!(answers[0].is_ok(), "{answers:?}");
    }

    async fn connect(&self) -> Application {
        Application::connect(&self.application).await
    }

    async fn record(&self, key: &str) -> MessageRecord {
        self.outbox.database.message_by_key(key).await.unwrap().unwrap()
    }
}

/// The keys that a poller claims and delivers now.
async fn delivered(poller: &Poller) -> Vec<String> {
    let (claim, messages) = tokio::time::timeout(PROMPTLY, poller.claim()).await.expect("a claim waits for nobody");
    let marking = poller.mark(claim, &messages, &Verdict::Success { receipt: None });
    tokio::time::timeout(PROMPTLY, marking).await.expect("a mark waits for nobody");
    messages.into_iter().map(|message| message.idempotency_key).collect()
}

#[tokio::test]
async fn a_message_taken_back_is_never_sent_and_the_audit_names_the_application() {
    for shop in shops().await {
        shop.enqueue(&["a", "b"]).await;
        let mut application = shop.connect().await;
        application.begin().await;
        assert!(application.cancel("a").await.unwrap());
        assert!(!application.cancel("a").await.unwrap(), "it has an outcome");
        assert!(!application.cancel("unheard-of").await.unwrap());
        application.run("COMMIT").await.unwrap();

        let record = shop.record("a").await;
        assert_eq!((record.status.as_str(), record.dead_reason.as_deref()), ("DEAD", Some("cancelled")));
        assert_eq!((record.revision, record.finished_at.is_some()), (1, true));
        let [entry] = &record.audit[..] else { panic!("{:?}", record.audit) };
        assert_eq!((entry.action.as_str(), entry.why.as_deref()), ("cancel", Some("the order was paid")));
        let who = if shop.outbox.dialect() == Dialect::Sqlite { "shop" } else { "app_" };
        assert!(entry.who.starts_with(who), "{entry:?}");
        assert_eq!(delivered(&Poller::begin(&shop.outbox.database, "one").await).await, ["b"]);
    }
}

#[tokio::test]
async fn a_message_whose_taking_back_is_rolled_back_goes() {
    for shop in shops().await {
        shop.enqueue(&["a"]).await;
        let mut application = shop.connect().await;
        application.begin().await;
        assert!(application.cancel("a").await.unwrap());
        application.run("ROLLBACK").await.unwrap();
        assert_eq!(shop.record("a").await.audit.len(), 0);
        assert_eq!(delivered(&Poller::begin(&shop.outbox.database, "one").await).await, ["a"]);
    }
}

/// A claim names it, so it may be on its way. Nor is its mark held up by the transaction that was refused.
#[tokio::test]
async fn a_message_in_flight_is_not_taken_back_and_its_mark_waits_for_nobody() {
    for shop in shops().await {
        shop.enqueue(&["a"]).await;
        let poller = Poller::begin(&shop.outbox.database, "one").await;
        let (claim, messages) = poller.claim().await;
        let mut application = shop.connect().await;
        application.begin().await;
        assert!(!application.cancel("a").await.unwrap());
        if shop.outbox.dialect() == Dialect::Sqlite {
            // It has the file's only lock, as always when it writes.
            application.run("COMMIT").await.unwrap();
        }
        let retry = Verdict::Retry { after: Duration::from_hours(1) };
        tokio::time::timeout(PROMPTLY, poller.mark(claim, &messages, &retry)).await.expect("a mark waits for nobody");
        // Between two attempts it waits like any other.
        if shop.outbox.dialect() == Dialect::Sqlite {
            application.begin().await;
        }
        assert!(application.cancel("a").await.unwrap());
        application.run("COMMIT").await.unwrap();
        assert_eq!(shop.record("a").await.dead_reason.as_deref(), Some("cancelled"));
    }
}

/// The poller goes its way beside it: claims, marks, settles, defers, begins a term. Only that one message waits.
#[tokio::test]
async fn an_open_transaction_that_takes_messages_back_holds_up_nothing_but_those() {
    // An open transaction that has written holds the whole file of SQLite.
    for shop in shops().await.into_iter().filter(|shop| shop.outbox.dialect() != Dialect::Sqlite) {
        let taken: Vec<_> = (0..120).map(|number| format!("taken-{number}")).collect();
        shop.enqueue(&taken.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let unknown = NewMessage::new("unknown", "/", "1").idempotency_key("of an unknown channel");
        let behind = |key: &str| NewMessage::http("/hook").idempotency_key(key).ordering_key("k");
        shop.enqueue_all(&[unknown, behind("head"), behind("behind it")]).await;
        shop.enqueue(&["free-1"]).await;
        let mut application = shop.connect().await;
        application.begin().await;
        for key in taken.iter().map(String::as_str).chain(["of an unknown channel", "head"]) {
            assert!(application.cancel(key).await.unwrap(), "{key}");
        }

        // However many are taken back, it claims the others.
        let poller = Poller::begin(&shop.outbox.database, "one").await;
        assert_eq!(delivered(&poller).await, ["free-1"]);
        // A row that was deferred and is taken back does not keep a term from beginning.
        let deferred = "UPDATE outbox SET deferred_from = available_at WHERE idempotency_key = 'free-2'";
        shop.enqueue(&["free-2"]).await;
        shop.outbox.sql(deferred).await;
        assert!(application.cancel("free-2").await.unwrap());
        let beginning = Poller::begin(&shop.outbox.database, "two");
        let next = tokio::time::timeout(PROMPTLY, beginning).await.expect("a term waits for nobody");
        shop.enqueue(&["free-3"]).await;
        assert_eq!(delivered(&next).await, ["free-3"]);

        application.run("ROLLBACK").await.unwrap();
        let mut later = delivered(&next).await;
        later.extend(delivered(&next).await);
        assert_eq!(later.len(), taken.len() + 3, "{later:?}");
        assert_eq!(shop.outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await, 1);
    }
}

/// However many of them are being taken back: the poller goes on to those behind.
#[tokio::test]
async fn an_open_transaction_that_takes_messages_for_many_hosts_back_holds_up_those_for_no_other() {
    for shop in shops().await.into_iter().filter(|shop| shop.outbox.dialect() != Dialect::Sqlite) {
        let receiver = Receiver::on_every_address(Duration::ZERO);
        let to = |what: &str, number: usize| {
            let target = format!("http://127.1.{}.{}:{}/", number / 250, 1 + number % 250, receiver.port());
            NewMessage::http(target).idempotency_key(format!("{what}-{number}"))
        };
        shop.enqueue_all(&(0..700).map(|number| to("taken", number)).collect::<Vec<_>>()).await;
        let mut application = shop.connect().await;
        application.begin().await;
        for number in 0..700 {
            assert!(application.cancel(&format!("taken-{number}")).await.unwrap());
        }
        shop.enqueue_all(&(700..900).map(|number| to("free", number)).collect::<Vec<_>>()).await;
        let schema = if shop.outbox.dialect() == Dialect::Postgres { SCHEMA } else { "" };
        let settings = format!(
            "[database]\nschema = \"{schema}\"\n[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n"
        );
        let _replica = Program::new(&shop.outbox.test.url, &settings).start_for_good();
        let free = async || (receiver.count() == 200).then_some(());
        eventually("those that nobody takes back are delivered", PATIENCE, free).await;
        application.run("COMMIT").await.unwrap();
    }
}

/// How long the one who takes back waits in a round, and the one who claims: one of them nothing, the other up to 3 ms
/// and, the longer one side has not come first, up to 30 ms.
fn waits(round: u64) -> (Duration, Duration) {
    let wait = Duration::from_micros(round / 2 % 15 * 200 * (1 + round / ROUNDS));
    if round.is_multiple_of(2) { (wait, Duration::ZERO) } else { (Duration::ZERO, wait) }
}

/// Whatever comes first: a message is taken back, or claimed, and never both.
#[tokio::test]
async fn a_message_is_taken_back_or_claimed_and_never_both() {
    for shop in shops().await {
        let poller = Poller::begin(&shop.outbox.database, "one").await;
        let mut application = shop.connect().await;
        let (mut round, mut taken, mut claimed) = (0, 0, 0);
        while round < ROUNDS || ((taken == 0 || claimed == 0) && round < MOST_ROUNDS) {
            let (before_taking, before_claiming) = waits(round);
            let key = format!("round-{round}");
            shop.enqueue(&[&key]).await;
            let take_back = async {
                tokio::time::sleep(before_taking).await;
                application.begin().await;
                let yes = application.cancel(&key).await;
                application.run("COMMIT").await.unwrap();
                // The file is somebody else's.
                yes.unwrap_or_else(|error| panic!("{error}"))
            };
            let claim = async {
                tokio::time::sleep(before_claiming).await;
                poller.claim().await
            };
            let (yes, (claim, messages)) = tokio::join!(take_back, claim);
            assert_eq!(yes, messages.is_empty(), "round {round} on {:?}", shop.outbox.dialect());
            poller.mark(claim, &messages, &Verdict::Success { receipt: None }).await;
            let status = shop.record(&key).await.status;
            assert_eq!(status, if yes { "DEAD" } else { "SUCCESS" }, "round {round}");
            if yes {
                taken += 1;
            } else {
                claimed += 1;
            }
            round += 1;
        }
        let came_first = format!("{taken} taken back and {claimed} claimed in {round} rounds");
        assert!(taken > 0 && claimed > 0, "no race on {:?}: {came_first}", shop.outbox.dialect());
    }
}

/// It waits for the claim that is being made, and then sees it: one of rows that a look has shown, and one of a look itself.
#[tokio::test]
async fn a_claim_that_is_being_made_is_seen_on_postgres() {
    let [shop, _, _] = shops().await;
    let poller = Poller::begin(&shop.outbox.database, "one").await;
    for (key, looks) in [("a", false), ("b", true)] {
        shop.enqueue(&[key]).await;
        let mut others = PgConnection::connect(&shop.outbox.test.url).await.unwrap();
        let lock = format!("SET search_path = {SCHEMA}; BEGIN; LOCK TABLE outbox_claim IN SHARE MODE");
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut others).await.unwrap();
        let mut application = shop.connect().await;
        let waits = async |what, of| {
            let waits = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {of}");
            eventually(what, PROMPTLY, async || (shop.outbox.number(&waits).await > 0).then_some(())).await;
        };
        let application_cancels = async {
            waits("the claim waits to be written", "wait_event_type = 'Lock' AND wait_event <> 'advisory'").await;
            let release = async {
                waits("it waits for the claim", "wait_event = 'advisory'").await;
                sqlx::raw_sql("COMMIT").execute(&mut others).await.unwrap();
            };
            tokio::join!(application.cancel(key), release).0.unwrap()
        };
        let claims = async || if looks { poller.look_and_claim().await } else { poller.claim().await };
        let ((claim, messages), taken_back) = tokio::join!(claims(), application_cancels);
        assert_eq!((messages.len(), taken_back), (1, false), "{key}");
        poller.mark(claim, &messages, &Verdict::Success { receipt: None }).await;
    }
}

/// What it could not promise it refuses, in words that say what to do.
#[tokio::test]
async fn a_transaction_that_does_not_see_present_claims_is_refused() {
    for shop in shops().await.into_iter().filter(|shop| shop.outbox.dialect() != Dialect::Sqlite) {
        shop.enqueue(&["a"]).await;
        let mut application = shop.connect().await;
        application.run("SET default_transaction_isolation = 'repeatable read'").await.ok();
        application.run("BEGIN").await.unwrap();
        let told = application.cancel("a").await.unwrap_err().to_string();
        assert!(told.contains("not cancelled"), "{told}");
        application.run("ROLLBACK").await.unwrap();
        if let Application::MySql(_) = application {
            application.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await.unwrap();
            let told = application.cancel("a").await.unwrap_err().to_string();
            assert!(told.contains("in a transaction"), "{told}");
        }
        assert_eq!(shop.record("a").await.status, "PENDING");
    }
}

#[tokio::test]
async fn an_application_cancels_only_where_it_was_granted_that() {
    for granted in grants::granted().await {
        // Made, and granted to somebody else.
        granted.owner.run_client(&script(granted.owner.dialect(), &granted.operator_role));
        let dialect = granted.owner.dialect();
        let sql = match dialect {
            Dialect::Postgres => "SELECT outbox_cancel('a', 'why')",
            Dialect::MySql | Dialect::Sqlite => "CALL outbox_cancel('a', 'why')",
        };
        grants::refused(&granted.application, dialect, sql).await;
        let mut shop = Application::connect(&granted.application).await;
        let told = shop.run("UPDATE outbox SET status = 'DEAD'").await.unwrap_err().to_string();
        assert!(told.contains("denied"), "{told}");
    }
}

/// It acts with the owner's rights, so it must not be led to a table of the caller's.
#[tokio::test]
async fn the_callers_search_path_leads_it_nowhere_else() {
    let [shop, _, _] = shops().await;
    shop.enqueue(&["a"]).await;
    let mut application = shop.connect().await;
    application.run("CREATE TEMPORARY TABLE outbox (id bigint, idempotency_key text)").await.unwrap();
    application.run(&format!("SET search_path = pg_temp, {SCHEMA}")).await.unwrap();
    assert!(application.cancel("a").await.unwrap());
    assert_eq!(shop.record("a").await.status, "DEAD");
}

/// An operator for two varchars is a better match than PostgreSQL's own for texts, wherever it lies.
#[tokio::test]
async fn an_operator_that_its_caller_made_does_not_run_with_the_rights_of_the_owner() {
    let [shop, _, _] = shops().await;
    shop.enqueue(&["a"]).await;
    let url = url::Url::parse(&shop.application).unwrap();
    shop.outbox.sql(&format!("GRANT CREATE ON SCHEMA {SCHEMA} TO {}", url.username())).await;
    let mut application = shop.connect().await;
    for (operator, left, right, result) in [
        ("=", "varchar", "varchar", "boolean"),
        ("<<", "bigint", "integer", "bigint"),
        ("+", "bigint", "smallint", "bigint"),
    ] {
        let spy = format!(
            "SET search_path = {SCHEMA};
             CREATE FUNCTION spy(a {left}, b {right}) RETURNS {result} LANGUAGE plpgsql AS
                 $$BEGIN RAISE EXCEPTION 'ran as %', current_user; END$$;
             CREATE OPERATOR {SCHEMA}.{operator} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = spy);"
        );
        application.run(&spy).await.unwrap();
    }
    let spy = "CREATE FUNCTION \"left\"(a name, b integer) RETURNS text LANGUAGE plpgsql AS \
               $$BEGIN RAISE EXCEPTION 'ran as %', current_user; END$$";
    application.run(spy).await.unwrap();
    assert!(application.cancel("a").await.unwrap());
    assert!(!application.cancel("none").await.unwrap());
}
