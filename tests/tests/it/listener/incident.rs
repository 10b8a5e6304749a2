//! docs/dead-letters.md, run as it is written: on a fleet of three and 100,000 messages, of which 5 % fail for three
//! different causes, somebody who knows nothing but the page finds them, mends them and sends them again.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use outbox_tests::transcript::{Transcript, says_the_same};
use outbox_tests::{eventually, outbox_binary, servers};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::commands::command_line::small;
use crate::outboxes::{self, Outbox};
use crate::program::Program;
use crate::sink::Sink;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/dead-letters.md");

const MESSAGES: i64 = 100_000;

/// How long the fleet may take for all of it, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(15);

/// One in fifty goes to a hook that has moved, one in fifty to a warehouse that is down, one in a hundred lacks a header.
const APPLICATION: &str = "\
    INSERT INTO outbox (channel, target, payload, headers) \
    SELECT 'http', 'http://127.0.0.1:PORT' || CASE n % 100 WHEN 1 THEN '/v1/orders' WHEN 51 THEN '/v1/orders' \
               WHEN 2 THEN '/stock' WHEN 52 THEN '/stock' WHEN 3 THEN '/invoices' ELSE '/v2/orders' END, \
           jsonb_build_object('order', n), CASE WHEN n % 100 = 3 THEN NULL ELSE '{\"X-Api-Version\": \"2\"}'::jsonb END \
    FROM generate_series(1, 100000) AS n";

/// Orders have moved, the warehouse comes back when it does, and invoices ask for a header.
#[derive(Debug, Default)]
pub(crate) struct Shop {
    pub(crate) warehouse_is_up: AtomicBool,
    pub(crate) accepted: AtomicUsize,
}

impl Shop {
    pub(crate) async fn start() -> (Arc<Self>, u16) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (shop, port) = (Arc::<Self>::default(), listener.local_addr().unwrap().port());
        let router = Router::new().fallback(answer).with_state(shop.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (shop, port)
    }
}

async fn answer(State(shop): State<Arc<Shop>>, uri: Uri, headers: HeaderMap) -> (StatusCode, &'static str) {
    let refused = match uri.path() {
        "/v1/orders" => Some((StatusCode::NOT_FOUND, "moved to /v2/orders")),
        "/stock" if !shop.warehouse_is_up.load(Ordering::Relaxed) => {
            Some((StatusCode::SERVICE_UNAVAILABLE, "the warehouse is closed"))
        }
        "/invoices" if !headers.contains_key("x-api-version") => {
            Some((StatusCode::UNPROCESSABLE_ENTITY, "X-Api-Version is missing"))
        }
        _ => None,
    };
    refused.unwrap_or_else(|| {
        shop.accepted.fetch_add(1, Ordering::Relaxed);
        (StatusCode::OK, "thank you")
    })
}

/// Three replicas, whose logs nobody reads.
struct Fleet(Vec<Child>);

impl Fleet {
    fn start(program: &Program) -> Self {
        let replica = |number: u32| {
            let log = File::create(program.path(&format!("replica-{number}.log"))).unwrap();
            program.command(&["run"]).stderr(log).stdout(Stdio::null()).spawn().unwrap()
        };
        Self((0..3).map(replica).collect())
    }

    async fn stop(self) {
        for mut replica in self.0 {
            let pid = Pid::from_raw(replica.id().unwrap().cast_signed()).unwrap();
            kill_process(pid, Signal::TERM).unwrap();
            assert!(replica.wait().await.unwrap().success());
        }
    }
}

async fn settled(outbox: &Outbox) {
    let none_waits =
        async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await == 0).then_some(());
    eventually("nothing waits any more", PATIENCE, none_waits).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newcomer_finds_explains_mends_and_redrives_by_the_page_alone() {
    let [outbox, ..] = outboxes::migrated().await;
    let (shop, port) = Shop::start().await;
    let redis = servers::redis().await.url();
    let program = Program::new(
        &outbox.test.url,
        &format!(
            "instance = \"r1\"\n[lease]\nurl = \"{redis}\"\nterm = \"3s\"\n[telemetry]\nlog_format = \"json\"\n\
             [channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n\
             max_attempts = 1\n"
        ),
    );
    // One attempt: where only what fails were left to send, the breaker would open, and nothing be exhausted.
    outbox.sql(&APPLICATION.replace("PORT", &port.to_string())).await;
    let fleet = Fleet::start(&program);
    settled(&outbox).await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await, MESSAGES / 20);

    let page = Transcript::read(Path::new(PAGE));
    let mut printed = Vec::new();
    for step in page.steps() {
        // What others do meanwhile: the warehouse opens again before its letters are redriven.
        if step.command.contains("redrive") && step.command.contains("/503/") {
            shop.warehouse_is_up.store(true, Ordering::Relaxed);
        }
        let said = shell(&program, &step.command.replace("127.0.0.1:9000", &format!("127.0.0.1:{port}"))).await;
        settled(&outbox).await;
        printed.push(said.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:9000"));
    }
    fleet.stop().await;
    if std::env::var_os("OUTBOX_TEST_UPDATE").is_some() {
        page.write(&printed);
    } else {
        for (step, printed) in page.steps().iter().zip(&printed) {
            assert!(
                says_the_same(&step.output, printed),
                "docs/dead-letters.md says of\n$ {}\n{}and it is\n{printed}\nRun this test with OUTBOX_TEST_UPDATE=1 to write it",
                step.command,
                step.output
            );
        }
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, MESSAGES);
    let accepted = shop.accepted.load(Ordering::Relaxed);
    assert_eq!(i64::try_from(accepted).unwrap(), MESSAGES, "each was accepted once");
}

#[tokio::test]
async fn every_other_command_of_the_page_does_what_it_is_there_for() {
    let sink = Sink::start().await;
    let program = small().await;
    for (target, delay) in [(sink.url("/garbage"), "0s"), (sink.url("/"), "1h")] {
        let message = ["enqueue", "--channel", "http", "--target", &target, "--payload", "{}", "--delay", delay];
        program.run(&message).await.done();
    }
    program.deliver().await;
    let page = std::fs::read_to_string(PAGE).unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let commands: Vec<_> = blocks.flat_map(str::lines).filter(|line| line.contains("outbox ")).collect();
    assert!(commands.len() > 12, "{commands:?}");
    for command in commands {
        shell(&program, command).await;
    }
    // The one that was tried waits to be sent; the other came back, and was purged.
    assert_eq!(program.run(&["dead-letters", "list"]).await.done(), "no dead letters\n");
    assert_eq!(program.run(&["messages", "show", "1", "--json"]).await.json()["status"], "PENDING");
    program.run(&["messages", "show", "2"]).await.failed();
}

/// What a command prints, on either output, to somebody at a shell.
async fn shell(program: &Program, command: &str) -> String {
    let folder = outbox_binary().parent().unwrap().display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("{command} 2>&1")])
        .env_clear()
        .env("PATH", path)
        .env("USER", "ada")
        .env("OUTBOX_DATABASE__URL", program.database())
        .current_dir(program.path("."))
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
