//! No secret of the settings is in anything that the program says, however the secret is broken.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::task::Poll;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use outbox_config::{Config, Sources};
use outbox_dispatcher::wiring;
use outbox_schema::{FcmTarget, NewMessage};
use outbox_tests::{eventually, servers};
use serde_json::json;
use tokio::process::Child;

use crate::outboxes::Outbox;
use crate::program::{PATIENCE, Program};
use crate::sink::Sink;

const SECRET: &str = "hunterGATHERERofSECRETS";

/// A key of RSA, as a service account has one.
const KEY: &str = include_str!("../../../../adapters/tests/it/service_account.pem");

/// So many characters of a secret in a row are a leak.
const PIECE: usize = 8;

/// How long a replica is listened to that may be waiting for what will not come.
const LISTENED_TO: Duration = Duration::from_secs(3);

/// Settings of a replica. In place of `@@` is a broken secret, of `@file` a file that holds a broken one, of `@sink` a URL that
/// answers, of `@channel` a channel of its own.
const SETTINGS: [&str; 21] = [
    "admin.token = \"@@\"",
    "admin.retry_token = \"t@@\"",
    "admin.read_token = \"r@@\"",
    "admin.metrics_token = \"m@@\"",
    "alerts.url = \"@sink/busy/@@\"\nalerts.on_dead_rate = \"1/1h\"",
    "alerts.url = { file = \"@file\" }\nalerts.on_dead_rate = \"1/1h\"",
    "alerts.url = { env = \"KEPT\" }\nalerts.on_dead_rate = \"1/1h\"",
    "telemetry.otlp_endpoint = \"http://u:@@@127.0.0.1:1\"",
    "@channel.base_url = \"http://u:@@@127.0.0.1:1\"",
    "@channel.base_url = \"@sink\"\n@channel.auth = { bearer = \"@@\" }",
    "@channel.base_url = \"@sink\"\n@channel.auth = { bearer = { file = \"@file\" } }",
    "@channel.base_url = \"@sink\"\n@channel.auth = { bearer = { env = \"KEPT\" } }",
    "@channel.base_url = \"@sink\"\n@channel.auth = { basic = { user = \"u\", password = \"@@\" } }",
    "@channel.base_url = \"@sink\"\n@channel.auth = { header = { name = \"X-Odd\", value = \"@@\" } }",
    "@channel.base_url = \"@sink\"\n@channel.headers = { Authorization = \"@@\" }",
    "@channel.base_url = \"@sink\"\n@channel.signing_keys = [\"whsec_@@\"]",
    "@channel.base_url = \"@sink\"\n@channel.signing_keys = [{ file = \"@file\" }]",
    "@channel.base_url = \"@sink\"\n@channel.on_dead = { channel = \"plain\", target = \"/@@\" }",
    "@channel.base_url = \"@sink\"\n@channel.tls_ca = \"@file\"",
    "@channel.base_url = \"@sink\"\n@channel.tls_cert = \"@file\"\n@channel.tls_key = \"@file\"",
    "@channel.kind = \"fcm\"\n@channel.project_id = \"shop\"\n@channel.credentials = \"@file\"",
];

/// URLs of databases and lease stores that nobody answers at.
const SERVERS: [(&str, &str); 10] = [
    ("database.url", "postgres://app:@@@127.0.0.1:1/shop"),
    ("database.url", "postgres://127.0.0.1:1/shop?user=app&password=@@"),
    ("database.url", "postgres://127.0.0.1:1/shop?sslmode=verify-full&sslrootcert=@file"),
    ("database.url", "postgres://127.0.0.1:1/shop?sslmode=require&sslcert=@file&sslkey=@file"),
    ("database.url", "mysql://app:@@@127.0.0.1:1/shop"),
    ("lease.url", "redis://app:@@@127.0.0.1:1"),
    ("lease.url", "rediss://127.0.0.1:1\"\nlease.tls_ca = \"@file"),
    ("lease.url", "redis+sentinel://:@@@127.0.0.1:1/shop"),
    ("lease.url", "redis+cluster://:@@@127.0.0.1:1,127.0.0.1:2"),
    ("lease.url", "redis+sentinel://127.0.0.1:1/shop?sentinel_password=@@"),
];

/// What a replica is asked. `@id` is a message.
const QUESTIONS: [&str; 26] = [
    "/readyz",
    "/metrics",
    "/api/v1/status",
    "/api/v1/check",
    "/api/v1/replicas",
    "/api/v1/terms",
    "/api/v1/figures",
    "/api/v1/destinations",
    "/api/v1/messages",
    "/api/v1/messages/@id",
    "/api/v1/messages/@id/explain",
    "/api/v1/dead-letters",
    "/api/v1/dead-letters/groups",
    "/api/v1/operations",
    "/api/v1/audit",
    "/api/v1/invalid-targets",
    "/api/v1/ordering-keys",
    "/",
    "/messages",
    "/messages/@id",
    "/dead-letters",
    "/destinations",
    "/settings",
    "/check",
    "/audit",
    "/terms",
];

/// A secret broken in twelve ways.
fn broken(secret: &str) -> [String; 12] {
    let half = secret.len() / 2;
    let (begin, end) = secret.split_at(half);
    [
        secret.to_owned(),
        begin.to_owned(),
        secret.replace('\n', ""),
        secret.replace('\n', "\\n"),
        secret.replace('\n', "\\\\n"),
        format!("{begin}\n{end}"),
        format!("\u{feff}{secret}"),
        format!("\"{secret}\""),
        format!("{secret} "),
        format!("{begin}%zz{end}"),
        format!("é{begin}/@#?{end}"),
        format!("https://{begin}:{end}"),
    ]
}

/// What a file holds whose secret is broken in each of these ways: the text itself, PEM, and the key of a service account.
fn kept(way: usize) -> [String; 4] {
    let account = |key: &str| {
        json!({ "type": "service_account", "client_email": "a@b", "private_key": key, "project_id": "shop",
            "token_uri": "https://127.0.0.1:1/token" })
        .to_string()
    };
    [&broken(SECRET)[way], &broken(KEY)[way], &account(&broken(KEY)[way]), &broken(&account(KEY))[way]]
        .map(Clone::clone)
}

/// The pieces of the secrets, and how they are found again.
struct Pieces {
    all: HashSet<Vec<u8>>,
    /// Whether one has these two bytes first: most of an output is passed over by them.
    begins: Vec<bool>,
}

impl Pieces {
    fn new() -> Self {
        let body: String = KEY.lines().filter(|line| !line.starts_with("-----")).collect();
        let pieces = [SECRET.as_bytes(), body.as_bytes()].into_iter().flat_map(|secret| secret.windows(PIECE));
        let all: HashSet<_> = pieces.map(<[u8]>::to_vec).collect();
        let mut begins = vec![false; 1 << 16];
        for piece in &all {
            begins[beginning(piece)] = true;
        }
        Self { all, begins }
    }

    fn are_in(&self, bytes: &[u8]) -> bool {
        bytes.windows(PIECE).any(|piece| self.begins[beginning(piece)] && self.all.contains(piece))
    }

    /// Whether a text has a piece as it is, over a line break, as numbers, in hexadecimal or percent encoding, or in base64.
    fn are_shown(&self, text: &str) -> bool {
        let joined: String = text.replace("\\n", "").split_whitespace().collect();
        let numbers = text.split(|at: char| !at.is_ascii_digit()).filter(|number| !number.is_empty());
        let numbers: Vec<u8> = numbers.map(|number| number.parse().unwrap_or(0)).collect();
        self.are_in(text.as_bytes())
            || self.are_in(joined.as_bytes())
            || self.are_in(&numbers)
            || [text.to_owned(), text.replace('%', "")].iter().any(|text| self.are_in_hexadecimal(text))
            || self.are_in_base64(text)
    }

    fn are_in_hexadecimal(&self, text: &str) -> bool {
        let runs = text.split(|at: char| !at.is_ascii_hexdigit()).filter(|run| run.len() >= 2 * PIECE);
        runs.flat_map(|run| [run, &run[1..]]).any(|run| {
            let digits = run.as_bytes().chunks_exact(2).map(|pair| std::str::from_utf8(pair).unwrap());
            self.are_in(&digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect::<Vec<_>>())
        })
    }

    fn are_in_base64(&self, text: &str) -> bool {
        let is_other = |at: char| !at.is_ascii_alphanumeric() && at != '+' && at != '/';
        let runs = text.split(is_other).filter(|run| run.len() >= PIECE * 4 / 3);
        runs.flat_map(|run| (0..4).map(move |from| &run[from..])).any(|run| {
            let decoded = BASE64_STANDARD_NO_PAD.decode(&run[..run.len() / 4 * 4]);
            decoded.is_ok_and(|decoded| self.are_in(&decoded))
        })
    }
}

fn beginning(piece: &[u8]) -> usize {
    usize::from(piece[0]) << 8 | usize::from(piece[1])
}

/// A text within quotes of TOML.
fn quoted(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Settings with their secrets, each by itself: one for each that a file could hold.
fn filled(program: &Program, setting: &str, place: usize, way: usize, sink: &Sink) -> Vec<String> {
    let kept = kept(way);
    let contents = match setting {
        _ if setting.contains("credentials") => &kept[..],
        _ if setting.contains("@file") => &kept[..2],
        _ => &kept[..1],
    };
    let fill = |(number, content): (usize, &String)| {
        let channel = format!("channels.c{place}x{number}");
        let mut text = setting.to_owned();
        if setting.contains("@channel") {
            let kind = if setting.contains("kind") { "" } else { "@channel.kind = \"http\"\n" };
            let networks = "@channel.allow_networks = [\"127.0.0.0/8\"]\n@channel.max_attempts = 1\n";
            text = format!("{kind}{networks}{setting}");
        }
        if setting.contains("@file") {
            text = text.replace("@file", &program.write(&format!("kept-{place}-{number}"), content));
        }
        text.replace("@channel", &channel)
            .replace("@sink", &sink.url(""))
            .replace("@@@", "@@\u{1}")
            .replace("@@", &quoted(&broken(SECRET)[way]))
            .replace('\u{1}', "@")
    };
    contents.iter().enumerate().map(fill).collect()
}

/// What is in every settings file.
fn with_basics(settings: &str, sink: &Sink, way: usize) -> String {
    let format = ["json", "text"][way % 2];
    format!(
        "admin.listen = \"127.0.0.1:0\"\ntelemetry.log_format = \"{format}\"\ntelemetry.log_level = \"debug\"\n\
         lease.ttl = \"1s\"\nlease.term = \"1s\"\nchannels.plain.kind = \"http\"\n\
         channels.plain.base_url = \"{}\"\nchannels.plain.allow_networks = [\"127.0.0.0/8\"]\n{settings}\n",
        sink.url("")
    )
}

/// How far a replica comes with these settings.
enum Fate {
    Refused,
    Unwired,
    Runs,
}

fn fate(text: &str) -> Fate {
    let environment = vec![("OUTBOX_DATABASE__URL".to_owned(), "sqlite://x.db".to_owned())];
    let sources = Sources { file: Some(("outbox.toml".into(), text.to_owned())), environment, ..Sources::default() };
    match Config::load(&sources) {
        Err(_) => Fate::Refused,
        Ok(config) => match wiring::channels(&config, "127.0.0.1:9".parse().unwrap()) {
            Err(_) => Fate::Unwired,
            Ok(_) => Fate::Runs,
        },
    }
}

/// One program and what it has said so far.
struct Told {
    program: Program,
    way: usize,
    said: Vec<(String, String)>,
}

impl Told {
    fn command(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = self.program.command(arguments);
        if std::fs::read_to_string(self.program.path("outbox.toml")).unwrap().contains("database.url") {
            command.env_remove("OUTBOX_DATABASE__URL");
        }
        let secret = &broken(SECRET)[self.way];
        command
            .env("KEPT", secret)
            .env("PGPASSWORD", secret)
            .env("HTTPS_PROXY", format!("http://u:{secret}@127.0.0.1:1"));
        command.env("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization={secret}"));
        command
    }

    /// Keeps what a command says.
    async fn run(&mut self, arguments: &[&str]) {
        let output = self.command(arguments).output();
        let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
        for stream in [output.stdout, output.stderr] {
            self.said.push((arguments.join(" "), String::from_utf8_lossy(&stream).into_owned()));
        }
    }

    /// Starts a replica, and gives where its log is.
    fn start(&self) -> (Child, std::path::PathBuf) {
        let log = self.program.path("log");
        let file = File::create(&log).unwrap();
        let mut command = self.command(&["run"]);
        command.stdout(Stdio::from(file.try_clone().unwrap())).stderr(Stdio::from(file));
        (command.spawn().unwrap(), log)
    }

    /// Keeps what a replica logs, until `done` or as long as it is listened to.
    async fn listen(&self, child: &mut Child, done: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while began.elapsed() < LISTENED_TO && child.try_wait().unwrap().is_none() && !done().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Keeps what is said of a server that does not answer, until the log tells of it.
    async fn say_all_of_a_server(&mut self) {
        let (mut child, log) = self.start();
        self.run(&["check"]).await;
        let tells = async || {
            let said = std::fs::read_to_string(&log).unwrap();
            address(&log).is_some() && (said.contains("WARN") || said.contains("ERROR"))
        };
        self.listen(&mut child, tells).await;
        if let Some(address) = address(&log) {
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            for path in ["/readyz", "/api/v1/status", "/api/v1/check", "/check", "/"] {
                // A replica may stop by itself after it has said why.
                let Ok(answer) = client.get(format!("{address}{path}")).send().await else { break };
                let Ok(text) = answer.text().await else { break };
                self.said.push((path.to_owned(), text));
            }
        }
        let _ = child.kill().await;
        self.keep_log(&log);
    }

    fn keep_log(&mut self, log: &Path) {
        self.said.push(("log".to_owned(), std::fs::read_to_string(log).unwrap()));
    }

    fn check(&self, pieces: &Pieces) {
        for (by, said) in &self.said {
            if pieces.are_shown(said) {
                let lines: Vec<_> = said.lines().filter(|line| pieces.are_shown(line)).take(3).collect();
                panic!("way {}, {by}: {lines:#?}\n{said}", self.way);
            }
        }
    }
}

/// Does something for each way to break a secret, all at once.
async fn in_each_way(does: impl AsyncFn(usize) -> Told) -> Vec<Told> {
    let mut ways: Vec<_> = (0..broken("").len()).map(|way| (Box::pin(does(way)), None)).collect();
    std::future::poll_fn(|context| {
        for (future, told) in &mut ways {
            if told.is_none()
                && let Poll::Ready(done) = future.as_mut().poll(context)
            {
                *told = Some(done);
            }
        }
        if ways.iter().all(|(_, told)| told.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    ways.into_iter().filter_map(|(_, told)| told).collect()
}

/// Where a replica listens, by its log.
fn address(log: &Path) -> Option<String> {
    let log = std::fs::read_to_string(log).unwrap();
    let line = log.lines().find(|line| line.contains("listening"))?;
    let port: String = line.split_once("127.0.0.1:")?.1.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("http://127.0.0.1:{port}"))
}

async fn say_all(way: usize, sink: &Sink) -> Told {
    let outbox = Outbox::open(servers::sqlite()).await;
    outbox.database.migrate("default").await.unwrap();
    let mut told = Told { program: Program::new(&outbox.test.url, ""), way, said: Vec::new() };
    let (mut runs, mut refused) = (String::new(), String::new());
    let mut unwired = Vec::new();
    let mut channels = Vec::new();
    for (place, setting) in SETTINGS.iter().enumerate() {
        for filled in filled(&told.program, setting, place, way, sink) {
            // One setting has one value.
            let key = filled.split(" =").next().unwrap().to_owned();
            match fate(&with_basics(&filled, sink, way)) {
                Fate::Refused if refused.contains(&key) => unwired.push(filled),
                Fate::Refused => refused += &(filled + "\n"),
                Fate::Runs if runs.contains(&key) => unwired.push(filled),
                Fate::Runs => {
                    let channel = key.strip_prefix("channels.").and_then(|key| key.split('.').next());
                    // Where an outcome is told, a row has as its target, and a target is shown.
                    let channel = channel.filter(|_| !setting.contains("on_dead ="));
                    channels.extend(channel.map(|name| (name.to_owned(), setting.contains("fcm"))));
                    runs += &(filled + "\n");
                }
                Fate::Unwired => unwired.push(filled),
            }
        }
    }
    assert!(matches!(fate(&with_basics(&runs, sink, way)), Fate::Runs), "{runs}");

    for refused in [refused].into_iter().chain(unwired) {
        told.program.write("outbox.toml", &with_basics(&refused, sink, way));
        for arguments in [&["run", "--until-empty"][..], &["check"]] {
            told.run(arguments).await;
        }
    }
    told.program.write("outbox.toml", &with_basics(&runs, sink, way));
    let messages = channels.iter().map(|(channel, is_push)| match is_push {
        true => NewMessage::fcm(FcmTarget::Topic("news".to_owned())).channel(channel).notification("Hello", "World"),
        false => NewMessage::http("/busy").channel(channel).json(&1),
    });
    let messages: Vec<_> = messages.collect();
    outbox.enqueue(&messages).await;
    listen_to_a_replica(&mut told, &outbox).await;
    for arguments in [
        &["check", "--json"][..],
        &["check"],
        &["status"],
        &["status", "--json"],
        &["destinations"],
        &["messages", "list"],
        &["config", "show"],
        &["config", "show", "--json"],
    ] {
        told.run(arguments).await;
    }
    told
}

/// Has a replica try each message, asks it everything, and keeps the answers and its log.
async fn listen_to_a_replica(told: &mut Told, outbox: &Outbox) {
    let (mut child, log) = told.start();
    // What waits for its credential stays.
    let tried = async || outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await == 0;
    let listens = eventually("the replica listens", PATIENCE, async || address(&log)).await;
    told.listen(&mut child, tried).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let first = outbox.number("SELECT min(id) FROM outbox").await;
    let last = outbox.number("SELECT max(id) FROM outbox").await;
    for question in QUESTIONS {
        let ids = if question.contains("@id") { first..=last } else { first..=first };
        for id in ids {
            let path = question.replace("@id", &id.to_string());
            let token = ["", "r", "m"].map(|role| format!("{role}{}", broken(SECRET)[told.way]));
            let request = client.get(format!("{listens}{path}"));
            let request =
                if token[0].bytes().all(|b| b.is_ascii_graphic()) { request.bearer_auth(&token[0]) } else { request };
            let answer = request.send().await.unwrap();
            assert!(answer.status() != 404 && answer.status() != 401, "{path}: {}", answer.status());
            told.said.push((path, answer.text().await.unwrap()));
        }
    }
    child.kill().await.unwrap();
    told.keep_log(&log);
}

/// Every setting but those of servers, in each way.
#[tokio::test]
async fn no_output_has_a_piece_of_a_secret_however_it_is_broken() {
    outbox_adapters::ensure_crypto_provider();
    let (sink, pieces) = (Sink::start().await, Pieces::new());
    for told in in_each_way(async |way| say_all(way, &sink).await).await {
        told.check(&pieces);
    }
}

#[tokio::test]
async fn no_output_has_a_piece_of_the_secret_of_a_server_however_it_is_broken() {
    outbox_adapters::ensure_crypto_provider();
    let (sink, pieces) = (Sink::start().await, Pieces::new());
    let outbox = Outbox::open(servers::postgres().await.database().await).await;
    outbox.database.migrate("default").await.unwrap();
    let url = &outbox.test.url;
    let told = in_each_way(async |way| {
        let mut told = Told { program: Program::new(url, ""), way, said: Vec::new() };
        for (place, (key, server)) in SERVERS.iter().enumerate() {
            for filled in filled(&told.program, &format!("{key} = \"{server}\""), place, way, &sink) {
                let beside = if *key == "database.url" { String::new() } else { format!("database.url = \"{url}\"\n") };
                told.program.write("outbox.toml", &with_basics(&format!("{beside}{filled}"), &sink, way));
                told.say_all_of_a_server().await;
            }
        }
        told
    });
    for told in told.await {
        told.check(&pieces);
    }
}

/// A field of the settings that holds a secret is in the tests above.
#[test]
fn every_setting_whose_type_is_that_of_a_secret_is_walked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = 0;
    for directory in ["dispatcher/config/src", "adapters/src/http", "adapters/src/fcm"] {
        for file in std::fs::read_dir(root.join(directory)).unwrap() {
            let path = file.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            for name in text.lines().filter_map(field_of_a_secret) {
                let walks = |setting: &str| setting.contains(&name);
                let is_walked =
                    SETTINGS.iter().any(|setting| walks(setting)) || SERVERS.iter().any(|(key, _)| walks(key));
                assert!(is_walked, "{}: {name} is a secret that no test breaks", path.display());
                found += 1;
            }
        }
    }
    assert!(found > 10, "{found}");
}

/// The name of the field, or of the variant, whose declaration a line is.
fn field_of_a_secret(line: &str) -> Option<String> {
    let line = line.trim().strip_suffix(',')?;
    let (name, of) = line.split_once(": ").or_else(|| line.strip_suffix(')')?.split_once('('))?;
    let of = of.trim_end_matches('>').rsplit('<').next()?;
    let is_secret = ["Secret", "SecretText", "SecretUrl"].contains(&of);
    is_secret.then(|| name.trim_start_matches("pub ").to_lowercase())
}
