//! The kind `http` as it describes itself: what each setting may be, how they are read and checked together, what a channel is.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::HttpChannel;
use super::headers::{check_header, check_headers, check_row_header};
use super::settings::{AuthTo, Body, CloudEvents, IdempotencyKey, Method, Settings, Targets};
use super::statuses::{STATUSES, Statuses, check_statuses};
use crate::adapter::Adapter;
use crate::common::{HEADER_NAME, MAX_CONNECTION_AGE, NETWORKS, network, tls_roots};
use crate::kind::{ChannelSettings, ChannelSetup, Kind};
use crate::setup::{BASE_URL, SetupError, TlsRoots, base_url};
use crate::shape::{Item, Shape, Shapes, Text, words};
use crate::values::{Checked, Refused, Values};

/// The kind of channels that make requests to URLs.
pub const KIND: Kind = Kind {
    name: "http",
    defaults: include_str!("defaults.toml"),
    shapes: SHAPES,
    read: |values| read(values).map(|settings| -> Arc<dyn ChannelSettings> { Arc::new(settings) }),
};

/// The settings that channels have beside those of every channel.
const SHAPES: Shapes = &[
    ("base_url", Shape::Text(Text::new(BASE_URL, |url| base_url(url, "`auth`").map(drop)).or_none())),
    ("targets", Shape::Word(&const { words(&Targets::WORDS) })),
    ("method", Shape::Word(&const { words(&Method::WORDS) })),
    ("headers", Shape::Headers),
    (
        "row_headers",
        Shape::List { allowed: "\"any\", or a list of names such as \"X-Tenant\"", item: Item::Text(check_row_header) },
    ),
    ("auth", Shape::Auth),
    ("auth_to", Shape::Word(&const { words(&AuthTo::WORDS) })),
    (
        "signing_keys",
        Shape::Secrets { allowed: "a list of texts such as \"whsec_…\", { env = \"NAME\" } or { file = \"PATH\" }" },
    ),
    ("idempotency_key", Shape::Word(&const { words(&IdempotencyKey::WORDS) })),
    ("body", Shape::Word(&const { words(&Body::WORDS) })),
    ("cloudevents", Shape::Word(&const { words(&CloudEvents::WORDS) })),
    ("retry_statuses", STATUS_LIST),
    ("dead_statuses", STATUS_LIST),
    ("known_statuses", STATUS_LIST),
    ("known_header", HEADER_NAME),
    ("allow_networks", NETWORKS),
    ("deny_networks", NETWORKS),
    ("https_only", Shape::Flag),
    ("ports", Shape::List { allowed: "a list of ports from 1 to 65535", item: Item::Whole(1, u16::MAX) }),
    ("tls_ca", Shape::File),
    ("tls_roots", Shape::Word(&const { words(&TlsRoots::WORDS) })),
    ("tls_cert", Shape::File),
    ("tls_key", Shape::File),
    ("max_connection_age", MAX_CONNECTION_AGE),
];

const STATUS_LIST: Shape = Shape::List {
    allowed: STATUSES,
    item: Item::Code {
        range: (300, 599),
        pattern: "^[345](xx|[0-9][0-9])$",
        check: |status| Statuses::parse(status).map(drop),
    },
};

impl ChannelSettings for Settings {
    fn build(&self, channel: &ChannelSetup<'_>) -> Result<Arc<dyn Adapter>, SetupError> {
        let ChannelSetup { name, timeout, at_most_once, keeps_answers, own } = *channel;
        let channel = HttpChannel::new(name, self, timeout, at_most_once, Some(own))?;
        Ok(Arc::new(channel.keeping_answers(keeps_answers)))
    }

    fn sends_json(&self) -> bool {
        self.body == Body::Json
    }

    fn base_url(&self) -> &str {
        &self.base_url
    }

    fn takes_urls(&self) -> bool {
        true
    }

    fn test_payload(&self) -> &'static str {
        match self.body {
            Body::Json => r#"{"outbox_test": true}"#,
            Body::Text => r#""a test message of outbox""#,
        }
    }

    fn remarks(&self) -> Vec<(&'static str, String)> {
        let mut remarks = Vec::new();
        if !self.https_only {
            remarks.push(("https_only", "a row may have its payload sent in the clear: set it to true".to_owned()));
        }
        if self.ports.is_empty() {
            remarks.push(("ports", "a row may name any port of any public host: set it to [443]".to_owned()));
        }
        if self.base_url.is_empty() {
            remarks.push((
                "base_url",
                "a row may name any public host: make one channel for each receiver, with its base_url".to_owned(),
            ));
        } else if self.targets == Targets::Any {
            remarks
                .push(("targets", "a row may name other hosts than that of base_url: set it to \"paths\"".to_owned()));
        }
        if self.row_headers.is_none() {
            remarks
                .push(("row_headers", "a row may set nearly any header: list those that it needs, or []".to_owned()));
        }
        if self.auth.is_some() && self.auth_to == AuthTo::Any {
            remarks.push((
                "auth_to",
                "the credential goes to every URL that a row names: set it to \"base_url\"".to_owned(),
            ));
        }
        if self.signing_keys.is_empty() {
            remarks.push(("signing_keys", "a receiver cannot tell who sent a request: give it a key".to_owned()));
        }
        if !self.allow_networks.is_empty() {
            let networks: Vec<_> = self.allow_networks.iter().map(ToString::to_string).collect();
            let what = format!(
                "a row may name any host in {}: name no network of your own, or the address of the receiver alone",
                networks.join(", ")
            );
            let narrow = self.allow_networks.iter().all(|network| network.prefix_len() == network.max_prefix_len());
            remarks.extend((!narrow).then_some(("allow_networks", what)));
        }
        remarks
    }
}

fn read(values: &mut Values) -> Checked<Settings> {
    let (headers, tls_roots) = (headers(values), tls_roots(values));
    check_base_url(values);
    check_statuses_apart(values);
    check_certificate(values);
    let (body, cloudevents) = (values.word("body", &Body::WORDS), values.word("cloudevents", &CloudEvents::WORDS));
    if (body, cloudevents) == (Ok(Body::Text), Ok(CloudEvents::Structured)) {
        values.refuse("body", "a structured event holds JSON: use cloudevents = \"binary\", or body = \"json\"");
    }
    // The word `any` stands for all headers.
    let row_headers = values.list("row_headers", str::parse::<String>);
    let row_headers = row_headers.map(|names| Some(names).filter(|names| names.iter().all(|name| name != "any")));
    let settings = Settings {
        base_url: values.text("base_url")?.to_owned(),
        method: values.word("method", &Method::WORDS)?,
        headers: headers?,
        targets: values.word("targets", &Targets::WORDS)?,
        row_headers: row_headers?,
        auth: values.auth("auth")?,
        auth_to: values.word("auth_to", &AuthTo::WORDS)?,
        signing_keys: values.secrets("signing_keys")?,
        idempotency_key: values.word("idempotency_key", &IdempotencyKey::WORDS)?,
        body: body?,
        cloudevents: cloudevents?,
        retry_statuses: values.list("retry_statuses", Statuses::parse)?,
        dead_statuses: values.list("dead_statuses", Statuses::parse)?,
        known_statuses: values.list("known_statuses", Statuses::parse)?,
        known_header: values.text("known_header")?.to_owned(),
        allow_networks: values.list("allow_networks", network)?,
        deny_networks: values.list("deny_networks", network)?,
        https_only: values.flag("https_only")?,
        ports: values.list("ports", str::parse)?,
        tls_ca: values.text("tls_ca")?.to_owned(),
        tls_roots: tls_roots?,
        tls_cert: values.text("tls_cert")?.to_owned(),
        tls_key: values.text("tls_key")?.to_owned(),
        max_connection_age: values.time("max_connection_age")?,
        is_implied: values.is_implied,
    };
    if let Err(problem) = check_headers(&settings) {
        values.refuse_table("headers", format!("cannot be sent: {problem}"));
    }
    Ok(settings)
}

fn headers(values: &mut Values) -> Checked<BTreeMap<String, String>> {
    // Where the key is wrong, it is unknown whether a header contradicts it.
    let idempotency_key = values.word("idempotency_key", &IdempotencyKey::WORDS).unwrap_or(IdempotencyKey::Off);
    let (mut headers, mut fine) = (BTreeMap::new(), true);
    for (name, value) in values.headers("headers")? {
        let value = value.ok_or_else(|| "the value of a header is a text in quotes".to_owned());
        match value.and_then(|value| check_header(&name, &value, idempotency_key).map(|()| value)) {
            Ok(value) => {
                headers.insert(name, value);
            }
            Err(why) => {
                values.refuse_key("headers", &name, why);
                fine = false;
            }
        }
    }
    if fine { Ok(headers) } else { Err(Refused) }
}

fn check_base_url(values: &mut Values) {
    if values.text("base_url") != Ok("") {
        return;
    }
    if values.word("targets", &Targets::WORDS) == Ok(Targets::Paths) {
        values.refuse("targets", "base_url is missing: the URL that the paths are below");
    }
    let to_base_url = values.word("auth_to", &AuthTo::WORDS) == Ok(AuthTo::BaseUrl);
    if to_base_url && values.auth("auth").is_ok_and(|auth| auth.is_some()) {
        values.refuse_table(
            "auth",
            "has no base_url, whose origin alone it goes to: set that, or auth_to = \"any\" where every URL that a row \
             names may have the credential",
        );
    }
}

fn check_statuses_apart(values: &mut Values) {
    for (name, before) in
        [("dead_statuses", "retry_statuses"), ("known_statuses", "retry_statuses"), ("known_statuses", "dead_statuses")]
    {
        let [list, other] = [name, before].map(|name| values.list(name, Statuses::parse).unwrap_or_default());
        if let Err(both) = check_statuses(&list, &other) {
            values.refuse(name, format!("{both} stands in {before} too: take it out of one of them"));
        }
    }
}

fn check_certificate(values: &mut Values) {
    let in_the_clear = values.text("base_url").is_ok_and(|url| url.starts_with("http:"));
    match (values.text("tls_cert"), values.text("tls_key")) {
        (Ok(""), Ok("")) | (Err(Refused), _) | (_, Err(Refused)) => {}
        (Ok(_), Ok("")) => values.refuse("tls_cert", "tls_key is missing: the PEM file of its private key"),
        (Ok(""), Ok(_)) => values.refuse("tls_key", "tls_cert is missing: the PEM file of its certificate"),
        (Ok(_), Ok(_)) if in_the_clear => {
            values.refuse("tls_cert", "a base_url that begins with http:// is never shown a certificate: use https://");
        }
        (Ok(_), Ok(_)) => {}
    }
}
