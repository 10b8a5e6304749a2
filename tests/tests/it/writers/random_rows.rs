//! A fuzzer of rows. Whoever may write messages writes random ones to receivers that do random things, and good ones beside them.
//! The good ones go out soon, every row that the database took has an outcome or waits for one, and no replica panics or takes
//! more memory than its settings say.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use outbox_store::{Database, Dialect};
use outbox_tests::eventually;
use outbox_tests::faults::{Dice, Figures, repeat};
use outbox_tests::receiver::{Manner, Receiver, Trickle};
use rustix::process::Signal;
use sqlx::AssertSqlSafe;

use crate::database::grants::{self, Granted, SCHEMA};
use crate::listener::memory::peak_memory;
use crate::outboxes::{self, Outbox, connect, execute, literal};
use crate::program::{Program, Replica};
use crate::writers::hostile::{nobody, silence};

/// How often random rows are written and good ones after them, on each database, and how many.
const STEPS: usize = 4;
const RANDOM: usize = 120;
const GOOD: usize = 10;

/// The rows of a flood: well written, all of one kind. Fewer where each takes its time.
const FLOOD: usize = 2_000;
const SLOW_FLOOD: usize = 400;

/// How many channels there are beside those that stand for something.
const MANY: usize = 60;

/// Where one row stops others, these wait for minutes. The machine may be busy with other tests.
const SOON: Duration = Duration::from_secs(20);

/// What goes to receivers that say nothing is tried a few at a time.
const TRIED: Duration = Duration::from_mins(5);

/// `dispatch.max_bytes`, and what a replica may take beside it, in KiB.
const MAX_BYTES: usize = 8 << 10;
const ROOM: usize = 150 << 10;

#[tokio::test]
async fn whatever_rows_are_written_good_ones_go_out_soon() {
    repeat("random rows", async |dice, figures| {
        let [postgres, mysql] = grants::granted().await;
        let [_, _, sqlite] = outboxes::migrated().await;
        for Granted { owner, application, dispatcher, .. } in [postgres, mysql] {
            let schema = (owner.dialect() == Dialect::Postgres).then_some(SCHEMA);
            let application = connect(&application, schema).await;
            Box::pin(Stage::set(&owner, application, &dispatcher, schema).await.play(dice, figures)).await;
        }
        let application = sqlite.database.clone();
        Box::pin(Stage::set(&sqlite, application, &sqlite.test.url, None).await.play(dice, figures)).await;
    })
    .await;
}

/// An outbox, whoever writes into it, a replica, and receivers.
struct Stage<'a> {
    owner: &'a Outbox,
    application: Database,
    replica: Replica,
    good: Receiver,
    targets: Targets,
}

/// Where random rows go.
struct Targets {
    /// It does at each path what the path says.
    odd: Receiver,
    /// It asks to be left alone.
    busy: Receiver,
    /// The ports at which nobody listens, and at which nobody answers.
    closed: u16,
    silent: u16,
    /// The replica's own listener.
    listener: String,
}

impl<'a> Stage<'a> {
    async fn set(owner: &'a Outbox, application: Database, dispatcher: &str, schema: Option<&str>) -> Self {
        let channel = "kind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\ntimeout = \"2s\"\nmax_attempts = 3\n";
        let database = schema.map(|schema| format!("[database]\nschema = \"{schema}\"\n")).unwrap_or_default();
        let odd = Receiver::start(Duration::ZERO);
        let told = format!("on_dead = {{ channel = \"told\", target = \"{}/204\" }}\n", odd.url());
        let many: Vec<_> = many_channels().map(|name| format!("[channels.{name}]\n{channel}")).collect();
        let many = many.concat();
        let settings = format!(
            "{database}[dispatch]\nmax_bytes = \"{MAX_BYTES} KiB\"\n[retry]\nbase = \"100ms\"\nmax = \"1s\"\n\
             [channels.http]\n{channel}{told}[channels.once]\nin_doubt = \"dead_letter\"\n{channel}{told}[channels.told]\n{channel}{many}"
        );
        let mut replica = Program::new(dispatcher, &settings).start_for_good();
        for (path, manner) in [
            ("/drop", Manner::Drop),
            ("/hang", Manner::Hang),
            ("/slow", Manner::Slow(Duration::from_secs(1))),
            ("/head", Manner::Trickle(Trickle::Head)),
            ("/body", Manner::Trickle(Trickle::Body)),
        ] {
            odd.behave(path, manner);
        }
        for status in STATUSES {
            odd.behave(&format!("/{status}"), Manner::Answer(vec![status]));
        }
        let busy = Receiver::start(Duration::ZERO);
        busy.behave("/", Manner::Busy(503, Duration::from_hours(1)));
        let (silent, _) = silence().await;
        let listener = replica.listener().await;
        let targets = Targets { odd, busy, closed: nobody(), silent, listener };
        Self { owner, application, replica, good: Receiver::start(Duration::ZERO), targets }
    }

    async fn play(self, dice: &mut Dice, figures: &mut Figures) {
        let dialect = self.owner.dialect();
        let (mut taken, mut refused) = (0, 0);
        for step in 1..=STEPS {
            for _ in 0..RANDOM {
                let sql = self.targets.row(dice, dialect);
                let inserted = match &self.application {
                    // Whoever writes to MariaDB can switch the checks off: the dispatcher's own sessions do.
                    Database::MySql(unchecked) if dice.below(2) == 0 => {
                        sqlx::raw_sql(AssertSqlSafe(sql)).execute(unchecked).await.map(drop)
                    }
                    database => execute(database, &sql).await,
                };
                *if inserted.is_ok() { &mut taken } else { &mut refused } += 1;
            }
            execute(&self.application, &self.targets.flood(dice, dialect)).await.unwrap();
            let began = Instant::now();
            for number in 0..GOOD {
                let key = format!("good {step} {number}");
                let sql =
                    insert(dialect, &[("idempotency_key", &key), ("target", &self.good.url()), ("tenant", "good")]);
                execute(&self.application, &sql).await.unwrap();
            }
            let all = async || (self.good.count() >= step * GOOD).then_some(());
            eventually("the good messages are delivered", SOON, all).await;
            figures.time(format!("until {GOOD} good messages were delivered, {dialect:?}"), began.elapsed());
        }
        figures.count("random rows that the database took", taken);
        figures.count("random rows that it refused", refused);
        self.ends_well().await;
    }

    async fn ends_well(self) {
        let untried = async || (self.owner.number(&untried(self.owner)).await == 0).then_some(());
        eventually("each due row was tried, or has an outcome", TRIED, untried).await;
        let unexplained =
            "SELECT count(*) FROM outbox WHERE status = 'DEAD' AND (last_error IS NULL OR dead_reason IS NULL)";
        assert_eq!(self.owner.number(unexplained).await, 0);
        assert_eq!(self.owner.number(UNTOLD).await, 0, "each dead letter is told, and once");
        let keys: Vec<_> = self.good.requests().into_iter().map(|request| request.key).collect();
        assert_eq!(keys.len(), STEPS * GOOD, "each good message is sent once: {keys:?}");
        self.repeats_nothing_without_a_doubt().await;
        let (peak, allowed) = (peak_memory(self.replica.pid()), MAX_BYTES + ROOM);
        assert!(peak <= allowed, "{peak} KiB, {allowed} are allowed");
        let (code, log) = self.replica.stop(Signal::TERM).await;
        assert_eq!(code, Some(0), "{log}");
        assert!(!log.contains("panicked"), "{log}");
    }
}

impl Stage<'_> {
    /// Whatever the odd receiver accepted more than once was in doubt before.
    async fn repeats_nothing_without_a_doubt(&self) {
        let mut accepted: BTreeMap<String, i64> = BTreeMap::new();
        for request in self.targets.odd.requests() {
            if request.status.is_some_and(|status| (200..300).contains(&status)) && !request.key.is_empty() {
                *accepted.entry(request.key).or_default() += 1;
            }
        }
        for (key, times) in accepted.into_iter().filter(|(_, times)| *times > 1) {
            let doubts = format!(
                "SELECT count(*) FROM outbox_attempt a JOIN outbox o ON o.id = a.message_id
                 WHERE a.outcome = 'in_doubt' AND o.idempotency_key = {}",
                literal(self.owner.dialect(), &key)
            );
            assert!(self.owner.number(&doubts).await >= times - 1, "{key} was accepted {times} times");
        }
    }
}

/// Names of channels beside the others. Some share the number that stands for a name where lanes are found: the first two on
/// PostgreSQL, the next two on MySQL.
fn many_channels() -> impl Iterator<Item = String> {
    let named = ["partner-145", "partner-423", "erp", "erp-40"].map(str::to_owned);
    named.into_iter().chain((0..MANY).map(|number| format!("many-{number}")))
}

/// The dead letters of channels that tell of them, but for the messages that tell.
const UNTOLD: &str = "SELECT (SELECT count(*) FROM outbox WHERE status = 'DEAD' AND channel IN ('http', 'once')
                              AND idempotency_key NOT LIKE 'outcome:%')
                           - (SELECT count(*) FROM outbox WHERE idempotency_key LIKE 'outcome:%')";

/// Rows that are due and were never tried. Those behind others of their ordering key wait for them.
fn untried(owner: &Outbox) -> String {
    let now = match owner.dialect() {
        Dialect::Postgres => "now()",
        Dialect::MySql => "UTC_TIMESTAMP(6)",
        Dialect::Sqlite => "unixepoch('subsec') * 1000",
    };
    format!(
        "SELECT count(*) FROM outbox WHERE status = 'PENDING' AND available_at <= {now} AND first_attempt_at IS NULL \
         AND ordering_key IS NULL"
    )
}

/// The statement that inserts a row with these texts, and a payload where they have none.
fn insert(dialect: Dialect, texts: &[(&str, &str)]) -> String {
    let values = texts.iter().map(|(column, text)| (*column, literal(dialect, text))).collect();
    statement(values)
}

fn statement(mut values: Vec<(&str, String)>) -> String {
    for (column, default) in [("channel", "'http'"), ("payload", "'{}'")] {
        if values.iter().all(|(name, _)| *name != column) {
            values.push((column, default.to_owned()));
        }
    }
    let (columns, values): (Vec<_>, Vec<_>) = values.into_iter().unzip();
    format!("INSERT INTO outbox ({}) VALUES ({})", columns.join(", "), values.join(", "))
}

/// What the odd receiver answers at a path of that name.
const STATUSES: [u16; 14] = [100, 204, 301, 307, 400, 401, 403, 404, 409, 410, 422, 425, 500, 599];

/// The pieces that random texts are made of.
const ATOMS: [&str; 44] = [
    "a",
    "A",
    "1",
    "-1",
    "0",
    "\\",
    "\\\\",
    "'",
    "\"",
    "@",
    "/",
    "//",
    "?",
    "#",
    "%",
    "%2e",
    "%00",
    "..",
    ":",
    ":80",
    "[",
    "]",
    "[::1]",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\u{7f}",
    "\u{9b}",
    "\u{202e}",
    "\u{200b}",
    "\u{2028}",
    "\u{feff}",
    "é",
    "😀",
    "127.0.0.1",
    "http://",
    "https:",
    "token:",
    "null",
    "{}",
    "1e400",
    "x-forwarded-for",
    "user:secret@",
];

/// What JSON numbers may be. PostgreSQL prints all digits of an exponent.
const NUMBERS: [&str; 10] = [
    "0",
    "-0",
    "1",
    "-1.5",
    "1e3",
    "1e131071",
    "1e308",
    "1e-400",
    "18446744073709551616",
    "123456789012345678901234567890",
];

fn text(dice: &mut Dice) -> String {
    match dice.below(20) {
        0 => "x".repeat(dice.one_of(&[255, 256, 1_000, 8_192, 9_000, 70_000])),
        _ => (0..dice.below(7)).map(|_| dice.one_of(&ATOMS)).collect(),
    }
}

fn json(dice: &mut Dice, depth: usize) -> String {
    let nested = |dice: &mut Dice| json(dice, depth + 1);
    match dice.below(if depth < 4 { 10 } else { 6 }) {
        0 => dice.one_of(&["null", "true", "false"]).to_owned(),
        1 => dice.one_of(&NUMBERS).to_owned(),
        2 => dice
            .one_of(&["\"\\u0000\"", "\"\\ud800\"", "\"\\ud83d\\ude00\"", "\"\\u2028\"", "\"", "nul", ""])
            .to_owned(),
        3..6 => serde_json::Value::from(text(dice)).to_string(),
        6..8 => format!("[{}]", (0..dice.below(4)).map(|_| nested(dice)).collect::<Vec<_>>().join(",")),
        _ => {
            let members =
                (0..dice.below(4)).map(|_| format!("{}:{}", serde_json::Value::from(text(dice)), nested(dice)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
    }
}

fn payload(dice: &mut Dice) -> String {
    match dice.below(12) {
        0 => format!("[{}]", vec![dice.one_of(&NUMBERS); dice.one_of(&[10, 30])].join(",")),
        1 => format!("\"{}\"", "x".repeat(dice.one_of(&[100_000, 1 << 20, 3 << 20]))),
        2 => format!("{}{}", "[".repeat(200), "]".repeat(200)),
        _ => json(dice, 0),
    }
}

fn headers(dice: &mut Dice) -> String {
    match dice.below(8) {
        0 => json(dice, 0),
        1 => format!(
            "{{{}}}",
            (0..dice.one_of(&[100, 2_000])).map(|n| format!("\"x-{n}\":\"1\"")).collect::<Vec<_>>().join(",")
        ),
        _ => {
            let names = [
                "host",
                "content-length",
                "authorization",
                "transfer-encoding",
                "x-outbox-client",
                "traceparent",
                "cookie",
            ];
            let name = if dice.below(2) == 0 { dice.one_of(&names).to_owned() } else { text(dice) };
            format!("{{{}:{}}}", serde_json::Value::from(name), serde_json::Value::from(text(dice)))
        }
    }
}

/// A time as its database writes it.
fn time(dice: &mut Dice, dialect: Dialect) -> String {
    let seconds = dice.one_of(&[-1_000_000_000, -1, 0, 1, 3_600]);
    match dialect {
        Dialect::Postgres => match dice.below(4) {
            0 => dice.one_of(&["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31'", "NULL"]).to_owned(),
            _ => format!("now() + interval '{seconds} s'"),
        },
        Dialect::MySql => format!("UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND"),
        Dialect::Sqlite => match dice.below(4) {
            0 => dice.one_of(&["0", "-1", "9e18", "9223372036854775807", "1.5", "'2026-01-01'", "NULL"]).to_owned(),
            _ => format!("CAST(unixepoch('subsec') * 1000 AS INTEGER) + {seconds} * 1000"),
        },
    }
}

impl Targets {
    fn target(&self, dice: &mut Dice) -> String {
        let host = format!("127.{}.{}.{}", 1 + dice.below(250), dice.below(250), 1 + dice.below(250));
        match dice.below(12) {
            0 | 1 => format!("http://{host}:{}/", self.closed),
            2 | 3 => format!("http://{host}:{}/", self.silent),
            4 => format!("{}/api/v1/destinations/http/pause", self.listener),
            5 => format!("{}/", self.busy.url()),
            6 => format!("{}/{}", self.odd.url(), dice.one_of(&STATUSES)),
            7 => format!("{}/{}", self.odd.url(), dice.one_of(&["drop", "hang", "slow", "head", "body", "ok"])),
            8 | 9 => {
                let mut target = format!("{}/ok?a=1", self.odd.url());
                target.insert_str(dice.below(target.len()), dice.one_of(&ATOMS));
                target
            }
            _ => text(dice),
        }
    }

    /// The statement that inserts many rows of one kind.
    fn flood(&self, dice: &mut Dice, dialect: Dialect) -> String {
        let host =
            |dice: &mut Dice| format!("http://127.{}.{}.{}", 1 + dice.below(250), dice.below(250), 1 + dice.below(250));
        let kind = dice.below(6);
        let (priority, tenant) = (dice.below(4), dice.one_of(&["NULL", "'noisy'"]));
        let path = dice.one_of(&STATUSES);
        let channels: Vec<String> = ["http".to_owned()].into_iter().chain(many_channels()).take(5).collect();
        let channel = dice.one_of(&channels.iter().map(String::as_str).collect::<Vec<_>>()).to_owned();
        let rows = (0..if kind == 0 { SLOW_FLOOD } else { FLOOD }).map(|_| {
            let target = match kind {
                0 => format!("{}:{}/", host(dice), self.silent),
                1 | 2 => format!("{}:{}/", host(dice), self.closed),
                3 => format!("{}/{path}", self.odd.url()),
                4 => format!("{}/ok", self.odd.url()),
                _ => format!("{}/", self.busy.url()),
            };
            format!("('{channel}', {}, '{{}}', {priority}, {tenant})", literal(dialect, &target))
        });
        let rows: Vec<_> = rows.collect();
        format!("INSERT INTO outbox (channel, target, payload, priority, tenant) VALUES {}", rows.join(", "))
    }

    /// The statement that inserts a random row. The database may refuse it.
    fn row(&self, dice: &mut Dice, dialect: Dialect) -> String {
        let literal = |text: &str| {
            // No text of PostgreSQL has a zero byte, nor a statement.
            literal(
                dialect,
                if dialect == Dialect::Postgres { text.split('\0').next().unwrap_or_default() } else { text },
            )
        };
        let mut values = vec![("target", literal(&self.target(dice))), ("payload", literal(&payload(dice)))];
        let now_and_then = |dice: &mut Dice| dice.below(5) == 0;
        if now_and_then(dice) {
            let many: Vec<String> = many_channels().collect();
            let odd = ["once", "once", "nobody's", "", "HTTP", "http "];
            let names: Vec<&str> = odd.into_iter().chain(many.iter().map(String::as_str)).collect();
            values.push(("channel", literal(dice.one_of(&names))));
        }
        if now_and_then(dice) {
            values.push(("headers", literal(&headers(dice))));
        }
        if now_and_then(dice) {
            let key = if dice.below(2) == 0 { text(dice) } else { format!("key {}", dice.below(1_000_000_000)) };
            values.push(("idempotency_key", literal(&key)));
        }
        if now_and_then(dice) {
            values.push(("tenant", literal(&text(dice))));
        }
        if now_and_then(dice) {
            values.push(("tags", literal(&headers(dice))));
        }
        if now_and_then(dice) {
            values.push(("priority", dice.one_of(&["-1", "0", "1", "2", "3", "4", "NULL"]).to_owned()));
        }
        if now_and_then(dice) {
            values.push(("max_attempts", dice.one_of(&["-1", "0", "1", "2", "32767", "NULL"]).to_owned()));
        }
        if now_and_then(dice) {
            values.push(("traceparent", literal(&text(dice))));
            values.push(("tracestate", literal(&text(dice))));
        }
        // An application writes no times on MySQL, unless it is granted that.
        if dialect != Dialect::MySql && now_and_then(dice) {
            values.push((dice.one_of(&["available_at", "expires_at", "created_at"]), time(dice, dialect)));
        } else if now_and_then(dice) {
            values.push(("ordering_key", literal(&text(dice))));
        }
        statement(values)
    }
}
