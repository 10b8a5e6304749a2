//! `outbox enqueue`: one message from the command line, or many from JSON lines, in one transaction.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use clap_complete::ArgValueCandidates;
use outbox_schema::{EnqueueError, Enqueued, NewMessage, Tag, Tags, enqueue_all};
use outbox_store::migrate::Meta;
use outbox_store::{Database, check_inserts};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::Instrument;

use super::examine::examine;
use super::session::{self, Misuse};
use crate::completions;
use outbox_config::Config;
use outbox_console::text::{Advance, print_as, warning, with_causes};
use outbox_dispatcher::telemetry::spans;
use outbox_dispatcher::wiring;

/// Messages that are enqueued before it is said how far it is.
const BATCH: usize = 1_000;

/// The longest wait for the lease store to take a wake-up.
const HINT_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  outbox enqueue --channel http --target /orders --payload '{\"id\": 4711}' --tag order=4711
  outbox enqueue --channel push --target topic:news --payload '{\"notification\": {\"title\": \"Open\"}}'
  outbox enqueue --lines messages.jsonl                  all of a file, or none

An application writes its messages in the transaction of its data: docs/enqueue.md.")]
pub(super) struct EnqueueArgs {
    /// The name of the channel.
    #[arg(long, required_unless_present = "lines", add = ArgValueCandidates::new(completions::channels))]
    channel: Option<String>,
    /// A URL, or for FCM token:…, topic:…, condition:… or fid:….
    #[arg(long, required_unless_present = "lines")]
    target: Option<String>,
    /// The payload: JSON text.
    #[arg(long, required_unless_present = "lines", value_name = "JSON")]
    payload: Option<String>,
    /// The same for each message of the same event; a second one is not inserted.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// An extra HTTP header. May be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Messages of the channel with the same key go out one at a time, in the order of their ids.
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,
    /// Whom the message is sent for: tenants of a channel take turns [default: the destination].
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// What the customer knows of the message, so that people find it: `order=4711`. May be repeated.
    #[arg(long = "tag", value_name = "NAME=VALUE")]
    tags: Vec<Tag>,
    /// 0 to 3: higher ones go first [default: 0].
    #[arg(long)]
    priority: Option<u8>,
    /// Deliver no sooner than this from now, for example 10m.
    #[arg(long, value_parser = humantime::parse_duration)]
    delay: Option<Duration>,
    /// Do not deliver later than this from now.
    #[arg(long, value_parser = humantime::parse_duration)]
    expires_in: Option<Duration>,
    /// Attempts at most, in place of the channel's.
    #[arg(long)]
    max_attempts: Option<u32>,
    /// Messages from a file of JSON lines instead (- for standard input): objects with channel, target, payload
    /// and, where wanted, `idempotency_key`, `headers`, `ordering_key`, `tenant`, `tags`, `priority`, `max_attempts`,
    /// `delay` and `expires_in` ("10m"). All or none.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["channel", "target", "payload", "idempotency_key", "headers", "ordering_key", "tenant", "tags", "priority", "delay", "expires_in", "max_attempts"])]
    lines: Option<PathBuf>,
    /// Insert also what would be a dead letter by the settings here, such as a target that its channel may not reach.
    #[arg(long)]
    force: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// One line of `--lines`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    channel: String,
    target: String,
    #[serde(borrow)]
    payload: &'a RawValue,
    idempotency_key: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    ordering_key: Option<String>,
    tenant: Option<String>,
    #[serde(default)]
    tags: Tags,
    priority: Option<u8>,
    max_attempts: Option<u32>,
    delay: Option<String>,
    expires_in: Option<String>,
}

/// The optional fields of a message.
struct Optional {
    key: Option<String>,
    ordering_key: Option<String>,
    tenant: Option<String>,
    tags: Tags,
    priority: Option<u8>,
    max_attempts: Option<u32>,
    delay: Option<Duration>,
    expires_in: Option<Duration>,
}

pub(super) async fn enqueue(config: Config, args: EnqueueArgs) -> anyhow::Result<ExitCode> {
    let (json, force) = (args.json, args.force);
    let from_lines = args.lines.is_some();
    let messages = match &args.lines {
        Some(file) => from_text(&session::read(file)?)?,
        None => vec![from_args(args)?],
    };
    let examined = examine(&config, &messages);
    for doubt in &examined.doubts {
        warning(doubt);
    }
    if let Some(refusal) = examined.refusal(&messages).filter(|_| !force) {
        bail!(refusal);
    }
    let (database, outbox) = session::open(&config).await?;
    let enqueued = traced(&config, &database, &messages).await?.map_err(|error| in_lines(error, from_lines))?;
    if enqueued.iter().any(Enqueued::is_inserted) {
        wake_poller(&config, &outbox).await;
    }
    print_as(json, &enqueued, |enqueued| in_words(enqueued))?;
    Ok(ExitCode::SUCCESS)
}

/// Gives a wake-up where the settings say that the poller listens for one. The messages are committed by now, so a failure
/// is only a warning.
async fn wake_poller(config: &Config, outbox: &Meta) {
    let given = async {
        if let Some(wake_ups) = wiring::wake_ups(config, &outbox.outbox_id.to_string())? {
            tokio::time::timeout(HINT_LIMIT, wake_ups.give())
                .await
                .context("the lease store did not answer in time")??;
        }
        anyhow::Ok(())
    };
    if let Err(error) = given.await {
        warning(&format!("the poller was not woken and finds the message at its next poll: {}", with_causes(&error)));
    }
}

/// Enqueues the messages. Where the settings name an OTLP endpoint, enqueuing is a span, and the attempts of the
/// messages join its trace.
async fn traced(
    config: &Config,
    database: &Database,
    messages: &[NewMessage],
) -> anyhow::Result<Result<Vec<Enqueued>, EnqueueError>> {
    if config.telemetry.otlp_endpoint.is_none() {
        return Ok(in_one_transaction(database, messages).await);
    }
    let telemetry = session::telemetry(config)?;
    let enqueued = in_one_transaction(database, messages).instrument(spans::enqueue_span(messages.len())).await;
    // A connection keeps the span in which it was made. So that span ends only when the database is closed.
    database.close().await;
    let metrics = telemetry.metrics([], &[])?;
    telemetry.shutdown(&metrics).await;
    Ok(enqueued)
}

/// Enqueues the messages in one transaction, and says how far it is where they are many.
async fn in_one_transaction(database: &Database, messages: &[NewMessage]) -> Result<Vec<Enqueued>, EnqueueError> {
    // The same lines stand here three times, because sqlx has a separate type for each database.
    match database {
        Database::Postgres(pool) => {
            let mut transaction = pool.begin().await?;
            let mut batches = Batches::of(messages);
            while let Some(batch) = batches.next() {
                batches.take(enqueue_all(&mut *transaction, batch).await)?;
            }
            transaction.commit().await?;
            Ok(batches.enqueued())
        }
        Database::MySql(pool) => {
            let mut transaction = pool.begin().await?;
            check_inserts(&mut transaction).await?;
            let mut batches = Batches::of(messages);
            while let Some(batch) = batches.next() {
                batches.take(enqueue_all(&mut *transaction, batch).await)?;
            }
            transaction.commit().await?;
            Ok(batches.enqueued())
        }
        Database::Sqlite(pool) => {
            let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
            let mut batches = Batches::of(messages);
            while let Some(batch) = batches.next() {
                batches.take(enqueue_all(&mut *transaction, batch).await)?;
            }
            transaction.commit().await?;
            Ok(batches.enqueued())
        }
    }
}

/// The messages of one transaction, some at a time.
struct Batches<'a> {
    messages: &'a [NewMessage],
    enqueued: Vec<Enqueued>,
    advance: Advance,
}

impl<'a> Batches<'a> {
    fn of(messages: &'a [NewMessage]) -> Self {
        Self { messages, enqueued: Vec::with_capacity(messages.len()), advance: Advance::new("enqueued") }
    }

    fn next(&self) -> Option<&'a [NewMessage]> {
        let rest = &self.messages[self.enqueued.len()..];
        rest.chunks(BATCH).next()
    }

    fn take(&mut self, enqueued: Result<Vec<Enqueued>, EnqueueError>) -> Result<(), EnqueueError> {
        let before = self.enqueued.len();
        match enqueued {
            Ok(enqueued) => self.enqueued.extend(enqueued),
            Err(error) => {
                self.advance.clear();
                return Err(match error {
                    EnqueueError::Invalid { index, source } => EnqueueError::Invalid { index: before + index, source },
                    error => error,
                });
            }
        }
        self.advance.tell(self.enqueued.len() as u64, Some(self.messages.len() as u64));
        Ok(())
    }

    fn enqueued(mut self) -> Vec<Enqueued> {
        self.advance.clear();
        self.enqueued
    }
}

fn in_lines(error: EnqueueError, from_lines: bool) -> anyhow::Error {
    match error {
        EnqueueError::Invalid { index, source } if from_lines => {
            anyhow::anyhow!("message {}: {source}; nothing was inserted", index + 1)
        }
        EnqueueError::Invalid { source, .. } => anyhow::anyhow!("{source}"),
        error @ (EnqueueError::Missing(_) | EnqueueError::Database(_)) => error.into(),
    }
}

fn in_words(enqueued: &[Enqueued]) -> String {
    match enqueued {
        [Enqueued::Inserted { id, key }] => format!("message {id} enqueued, idempotency key {key}"),
        [Enqueued::Duplicate { id, key }] => {
            let id = id.map_or_else(String::new, |id| format!(" (message {id})"));
            format!("not enqueued: a message of the idempotency key {key} is there already{id}")
        }
        many => {
            let inserted = many.iter().filter(|one| one.is_inserted()).count();
            let messages = if inserted == 1 { "message" } else { "messages" };
            let there = many.len() - inserted;
            let were = if there == 1 { "was" } else { "were" };
            format!("{inserted} {messages} enqueued, {there} {were} there already")
        }
    }
}

fn from_args(args: EnqueueArgs) -> anyhow::Result<NewMessage> {
    let EnqueueArgs { channel, target, payload, idempotency_key: key, headers, .. } = args;
    let EnqueueArgs { ordering_key, tenant, tags, priority, delay, expires_in, max_attempts, .. } = args;
    // clap requires these three where --lines is absent.
    let [channel, target, payload] = [channel, target, payload].map(Option::unwrap_or_default);
    let tags = Tags::try_from(tags).map_err(Misuse::new)?;
    let optional = Optional { key, ordering_key, tenant, tags, priority, max_attempts, delay, expires_in };
    Ok(complete(NewMessage::new(channel, target, payload), headers, optional))
}

fn complete(
    mut message: NewMessage,
    headers: impl IntoIterator<Item = (String, String)>,
    optional: Optional,
) -> NewMessage {
    let Optional { key, ordering_key, tenant, tags, priority, max_attempts, delay, expires_in } = optional;
    for (name, value) in headers {
        message = message.header(name, value);
    }
    if let Some(key) = key {
        message = message.idempotency_key(key);
    }
    if let Some(key) = ordering_key {
        message = message.ordering_key(key);
    }
    if let Some(tenant) = tenant {
        message = message.tenant(tenant);
    }
    for (name, value) in tags.iter() {
        message = message.tag(name, value);
    }
    if let Some(priority) = priority {
        message = message.priority(priority);
    }
    if let Some(most) = max_attempts {
        message = message.max_attempts(most);
    }
    if let Some(delay) = delay {
        message = message.delay(delay);
    }
    if let Some(time) = expires_in {
        message = message.expires_in(time);
    }
    message
}

fn from_text(text: &str) -> anyhow::Result<Vec<NewMessage>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let messages = lines
        .map(|(index, line)| from_line(line).with_context(|| format!("line {}; nothing was inserted", index + 1)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    if messages.is_empty() {
        bail!("there is no message: each line is an object with channel, target and payload");
    }
    Ok(messages)
}

fn from_line(line: &str) -> anyhow::Result<NewMessage> {
    let line: Line<'_> = serde_json::from_str(line)?;
    let time = |name: &str, text: Option<String>| {
        text.map(|text| {
            humantime::parse_duration(&text).with_context(|| format!("{name} is `{text}`, not a time such as 10m"))
        })
        .transpose()
    };
    let message = NewMessage::new(line.channel, line.target, line.payload.get());
    let optional = Optional {
        key: line.idempotency_key,
        ordering_key: line.ordering_key,
        tenant: line.tenant,
        tags: line.tags,
        priority: line.priority,
        max_attempts: line.max_attempts,
        delay: time("delay", line.delay)?,
        expires_in: time("expires_in", line.expires_in)?,
    };
    Ok(complete(message, line.headers, optional))
}

/// Reads a header. `NAME=VALUE` is taken too: no name has a colon or an equals sign in it.
pub(super) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once([':', '=']) {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err("write it as `Name: value`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_taken_with_a_colon_or_an_equals_sign() {
        let host = ("X-Tenant".to_owned(), "a=b:c".to_owned());
        assert_eq!(header("X-Tenant: a=b:c"), Ok(host.clone()));
        assert_eq!(header("X-Tenant=a=b:c"), Ok(host));
        assert!(header("X-Tenant").is_err());
    }

    #[test]
    fn a_wrong_line_is_named_and_nothing_is_taken() {
        let good = r#"{"channel":"http","target":"http://a","payload":{"b":1},"delay":"10m"}"#;
        assert!(from_text(good).is_ok_and(|messages| messages.len() == 1));
        for (bad, word) in [
            (r#"{"channel":"http","target":"http://a"}"#, "payload"),
            (r#"{"channel":"http","target":"http://a","payload":{},"chanel":1}"#, "chanel"),
            (r#"{"channel":"http","target":"http://a","payload":{},"delay":"10"}"#, "delay"),
        ] {
            let error = from_text(&format!("{good}\n\n{bad}\n")).err().map(|error| with_causes(&error));
            assert!(error.as_ref().is_some_and(|text| text.contains("line 3") && text.contains(word)), "{error:?}");
        }
    }
}
