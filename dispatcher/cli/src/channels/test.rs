//! `outbox channels test`: one test message through the adapter of the settings, without the outbox. What a poller would send is
//! sent, from this machine, and shown with its answer.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use clap_complete::ArgValueCandidates;
use outbox_adapters::{Answer, Delivery, HIDDEN, Recorder, SeenAnswer, SeenRequest};
use outbox_config::{Config, is_secret_header};
use outbox_console::configured::nearest;
use outbox_console::examine;
use outbox_console::text::{Page, in_one_line, print_as};
use outbox_dispatcher::wiring;
use outbox_schema::NewMessage;
use outbox_store::Outcome;
use parking_lot::Mutex;
use serde::Serialize;
use uuid::Uuid;

use crate::completions;
use crate::enqueue::header;
use crate::session::Misuse;

/// The beginning of the idempotency key of each test message, by which a receiver can tell one.
const MARK: &str = "outbox-test-";

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// The name of the channel.
    #[arg(add = ArgValueCandidates::new(completions::channels))]
    name: String,
    /// A URL, or a path below the channel's `base_url`; for FCM token:…, topic:…, condition:… or fid:….
    #[arg(long)]
    target: String,
    /// The payload: JSON text [default: one that says that it is a test].
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// An extra HTTP header. May be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// What was sent, what came back, and what a poller would make of it.
#[derive(Debug, Serialize)]
struct Report {
    channel: String,
    idempotency_key: String,
    exchanges: Vec<Exchange>,
    outcome: &'static str,
    status_code: Option<u16>,
    /// FCM's name of the message.
    receipt: Option<String>,
    error: Option<String>,
    /// The beginning of the last answer's body.
    excerpt: Option<String>,
    duration_ms: u64,
}

/// A request, and the head of its answer if one came.
#[derive(Debug, Serialize)]
struct Exchange {
    request: SeenRequest,
    answer: Option<SeenAnswer>,
}

/// Keeps what it sees.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Exchange>>);

impl Kept {
    fn with<T>(&self, look: impl FnOnce(&mut Vec<Exchange>) -> T) -> T {
        look(&mut self.0.lock())
    }
}

impl Recorder for Kept {
    fn sent(&self, request: SeenRequest) {
        self.with(|exchanges| exchanges.push(Exchange { request: without_secrets(request), answer: None }));
    }

    fn answered(&self, answer: SeenAnswer) {
        self.with(|exchanges| {
            if let Some(last) = exchanges.last_mut() {
                last.answer = Some(answer);
            }
        });
    }
}

pub(super) async fn test(config: &Config, args: TestArgs) -> anyhow::Result<ExitCode> {
    let TestArgs { name, target, payload, headers, json } = args;
    let Some(settings) = config.channels.get(&name) else {
        let known: Vec<_> = config.channels.keys().map(String::as_str).collect();
        let nearest = nearest(&name, config.channels.keys().map(String::as_str));
        let nearest = nearest.map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"));
        return Err(Misuse::new(format!("the settings have no channel {name} ({}){nearest}", known.join(", "))).into());
    };
    let key = format!("{MARK}{}", Uuid::now_v7());
    let payload = payload.unwrap_or_else(|| settings.settings.test_payload().to_owned());
    let message = NewMessage::new(name.as_str(), target, payload).idempotency_key(key.as_str());
    let message = headers.into_iter().fold(message, |message, (name, value)| message.header(name, value));
    message.validate()?;
    let kept = Arc::new(Kept::default());
    let delivery = delivery(&message, &key, &kept)?;
    let channel = wiring::channel(settings, config.admin.listen)?;
    let began = Instant::now();
    let answer = channel.adapter.deliver(delivery).await;
    let took = began.elapsed();
    let delivered = matches!(answer.outcome, Outcome::Delivered { .. });
    let exchanges = kept.with(std::mem::take);
    let report = Report::new(name, key, exchanges, answer, u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    print_as(json, &report, in_words)?;
    Ok(if delivered { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn delivery(message: &NewMessage, key: &str, kept: &Arc<Kept>) -> anyhow::Result<Delivery> {
    let content = message.content()?;
    Ok(Delivery {
        idempotency_key: key.to_owned(),
        permit: Arc::new(|| true),
        recorder: Some(kept.clone()),
        ..examine::delivery(&content)
    })
}

/// The request without the values of headers whose name says that they are secret. People put keys there, and not into `auth`.
fn without_secrets(mut request: SeenRequest) -> SeenRequest {
    for (name, value) in &mut request.headers {
        // The key of a message and its signature are none.
        let shown = name == "idempotency-key" || name.starts_with("webhook-");
        if !shown && is_secret_header(name) {
            HIDDEN.clone_into(value);
        }
    }
    request
}

impl Report {
    fn new(channel: String, key: String, exchanges: Vec<Exchange>, answer: Answer, duration_ms: u64) -> Self {
        let outcome = answer.outcome.as_str();
        let receipt = if let Outcome::Delivered { receipt } = answer.outcome { receipt } else { None };
        let Answer { status_code, error, excerpt, .. } = answer;
        Self { channel, idempotency_key: key, exchanges, outcome, status_code, receipt, error, excerpt, duration_ms }
    }

    /// What a poller would make of the answer.
    fn verdict(&self) -> String {
        let because = self.error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
        match self.outcome {
            "delivered" => {
                let receipt = self.receipt.as_deref().map_or_else(String::new, |name| format!(" as {name}"));
                format!("Delivered{receipt}, after {} ms.", self.duration_ms)
            }
            "dead" | "dead_target" if self.exchanges.is_empty() => format!("Nothing was sent{because}"),
            "dead" | "dead_target" => format!("A message would be a dead letter{because}"),
            "retry" => format!("A message would be sent again{because}"),
            "deferred" => format!("The channel would wait{because}"),
            "in_doubt" => format!("It may have arrived{because}"),
            _ => format!("Not sent{because}"),
        }
    }
}

fn in_words(report: &Report) -> Page {
    let mut text = String::new();
    for Exchange { request, answer } in &report.exchanges {
        let _ = writeln!(text, "{} {} {}", request.method, in_one_line(&request.url), request.protocol);
        add_headers(&mut text, &request.headers);
        let _ = writeln!(text, "\n{}\n", request.body);
        if let Some(answer) = answer {
            let _ = writeln!(text, "answered {} after {} ms", answer.status, answer.after_ms);
            add_headers(&mut text, &answer.headers);
            text.push('\n');
        }
    }
    if let Some(excerpt) = &report.excerpt {
        let _ = writeln!(text, "{excerpt}\n");
    }
    let mut page = Page::as_it_is(text);
    page.line(report.verdict());
    page
}

fn add_headers(text: &mut String, headers: &[(String, String)]) {
    for (name, value) in headers {
        let _ = writeln!(text, "{name}: {}", in_one_line(value));
    }
}
