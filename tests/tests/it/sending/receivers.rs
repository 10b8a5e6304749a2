//! The receivers to which docs/http.md leads, against a real replica.

use std::path::Path;
use std::process::Stdio;

use outbox_schema::NewMessage;
use outbox_tests::python::python;
use outbox_tests::servers;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::outboxes::Outbox;
use crate::program::{PATIENCE, Program};
use crate::sink::{Request, Sink};

const RECEIVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../guides/receivers");

const KEY: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const STRANGER: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A receiver. It ends with this.
struct Receiver {
    _process: Child,
    _home: TempDir,
    port: String,
}

impl Receiver {
    async fn start(mut program: Command, file: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::copy(Path::new(RECEIVERS).join(file), home.path().join(file)).unwrap();
        program.args([file, "0"]).current_dir(home.path()).env("WEBHOOK_SECRET", KEY);
        let mut process = program.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap_or_else(|error| {
            panic!("{} does not start ({error}): tests/install brings it", program.as_std().get_program().display())
        });
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap();
        let line = line.expect("it says where it listens");
        let port = line.strip_prefix("listening on ").unwrap().to_owned();
        Self { _process: process, _home: home, port }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// What it answers to that request.
    async fn answer(&self, request: &Request) -> u16 {
        outbox_adapters::ensure_crypto_provider();
        let mut headers = request.headers.clone();
        for of_its_own_connection in ["host", "content-length"] {
            headers.remove(of_its_own_connection);
        }
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let post = client.post(self.url()).headers(headers).body(request.body.clone());
        post.send().await.unwrap().status().as_u16()
    }
}

fn settings(key: &str) -> String {
    format!(
        "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\nsigning_keys = [\"{STRANGER}\", \"{key}\"]\n"
    )
}

async fn fresh() -> Outbox {
    let outbox = Outbox::open(servers::sqlite()).await;
    Box::pin(outbox.database.migrate("default")).await.unwrap();
    outbox
}

/// What a replica sends for a message.
async fn signed() -> Request {
    let (outbox, sink) = (fresh().await, Sink::start().await);
    outbox.enqueue(&[NewMessage::http(sink.url("/")).json(&json!({ "by": "Zoë" })).idempotency_key("captured")]).await;
    Program::new(&outbox.test.url, &settings(KEY)).deliver().await;
    sink.requests().remove(0)
}

async fn verifies_processes_once_and_answers_rightly(receiver: Receiver) {
    let outbox = fresh().await;
    let message = |key: &str| NewMessage::http(receiver.url()).json(&json!({ "order": key })).idempotency_key(key);
    outbox.enqueue(&["a", "b", "c"].map(message)).await;
    Program::new(&outbox.test.url, &settings(KEY)).deliver().await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, 3);

    // Signed by nobody whom the receiver knows.
    outbox.enqueue(&[message("d").max_attempts(1)]).await;
    Program::new(&outbox.test.url, &settings(STRANGER)).deliver().await;
    let refused = "SELECT count(*) FROM outbox WHERE status = 'DEAD' AND last_status_code = 400";
    assert_eq!(outbox.number(refused).await, 1);

    let genuine = signed().await;
    assert_eq!(receiver.answer(&genuine).await, 200, "new");
    assert_eq!(receiver.answer(&genuine).await, 204, "known, and accepted again");
    let mut changed = genuine.clone();
    changed.body = r#"{"by": "Eve"}"#.into();
    assert_eq!(receiver.answer(&changed).await, 400);
    let mut another = genuine.clone();
    another.headers.insert("webhook-id", "another".parse().unwrap());
    assert_eq!(receiver.answer(&another).await, 400);
    let mut unsigned = genuine.clone();
    unsigned.headers.remove("webhook-signature");
    assert_eq!(receiver.answer(&unsigned).await, 400);
    let mut late = genuine;
    late.headers.insert("webhook-timestamp", "1649367553".parse().unwrap());
    assert_eq!(receiver.answer(&late).await, 400);
}

#[tokio::test]
async fn the_receiver_in_python_verifies_processes_once_and_answers_rightly() {
    let receiver = Receiver::start(Command::new(python()), "receiver.py").await;
    verifies_processes_once_and_answers_rightly(receiver).await;
}

#[tokio::test]
async fn the_receiver_in_node_verifies_processes_once_and_answers_rightly() {
    let receiver = Receiver::start(Command::new("node"), "receiver.mjs").await;
    verifies_processes_once_and_answers_rightly(receiver).await;
}
