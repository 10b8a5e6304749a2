//! Which addresses a channel reaches, with real servers: also by name, and each channel its own.

use std::time::Duration;

use outbox_adapters::http::{Auth, AuthTo, HttpChannel, Settings, Targets};
use outbox_adapters::{Adapter, Delivery};
use outbox_store::{DeadReason, Outcome};

use crate::http::{channel, delivery, literal, loopback, networks};
use crate::stand_in::{StandIn, reply};

const DEAD: Outcome = Outcome::Dead { reason: DeadReason::Permanent };
const DELIVERED: Outcome = Outcome::Delivered { receipt: None };

fn reaching(reached: &[&str]) -> HttpChannel {
    let settings = Settings { allow_networks: networks(reached), ..loopback() };
    channel(&settings, Duration::from_secs(20), false)
}

async fn accepting() -> StandIn {
    StandIn::start(|_| reply(200, "", "")).await
}

#[tokio::test]
async fn a_channel_reaches_its_own_networks_and_not_those_of_another() {
    let server = accepting().await;
    let (closed, open, other) = (reaching(&[]), reaching(&["127.0.0.1/32"]), reaching(&["10.0.0.0/8", "::1/128"]));
    for host in ["127.0.0.1", "localhost"] {
        let target = format!("http://{host}:{}/", server.port);
        let before = server.seen().len();
        for refusing in [&closed, &other] {
            let answer = refusing.deliver(delivery(&target)).await;
            if host == "localhost" && matches!(answer.outcome, Outcome::Retry { .. }) {
                // The name is also ::1, where this server does not listen.
                continue;
            }
            assert_eq!(answer.outcome, DEAD, "{target}: {answer:?}");
            assert!(answer.error.unwrap().contains("channels.hooks.allow_networks"), "{target}");
        }
        assert_eq!(server.seen().len(), before, "{target}");
        assert_eq!(open.deliver(delivery(&target)).await.outcome, DELIVERED, "{target}");
    }
}

/// The database would count it for another destination than the one that is asked.
#[tokio::test]
async fn a_host_that_is_not_written_plainly_is_not_asked_and_the_error_names_no_part_of_the_target() {
    let server = accepting().await;
    let open = reaching(&["127.0.0.0/8"]);
    let port = server.port;
    for target in [
        format!("http://127.0.0.1:{port}\\@127.0.0.1:1/s3cret"),
        format!("http:/127.0.0.1:{port}/s3cret"),
        format!("http:\\\\127.0.0.1:{port}/s3cret"),
        format!("http:///127.0.0.1:{port}/s3cret"),
        format!("http://%31%32%37.0.0.1:{port}/s3cret"),
        format!("http://2130706433:{port}/s3cret"),
        format!("http://0x7f.1:{port}/s3cret"),
        format!("http://0177.0.0.1:{port}/s3cret"),
        format!("http://127.0.0.1.:{port}/s3cret"),
        format!("http://localhost.:{port}/s3cret"),
        format!("http://127.0.0.1:0{port}/s3cret"),
        format!("http://[::ffff:127.0.0.1]:{port}/s3cret"),
        format!("http://[::ffff:7f00:1]:{port}/s3cret"),
    ] {
        let answer = open.deliver(delivery(&target)).await;
        assert_eq!((answer.outcome, answer.status_code), (DEAD, None), "{target}");
        let error = answer.error.unwrap();
        assert!(error.contains("write the host plainly") && !error.contains("s3cret"), "{target}: {error}");
    }
    let cut = Delivery { destination: "http://127.0.0.1".to_owned(), ..delivery(&server.url("/")) };
    assert_eq!(open.deliver(cut).await.outcome, DEAD, "the column has another name");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn nothing_listens_to_a_channel_that_may_not_reach_it() {
    let server = accepting().await;
    let closed = reaching(&[]);
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:7f00:1]", "127.1"] {
        let answer = closed.deliver(delivery(&format!("http://{host}:{}/", server.port))).await;
        assert_eq!(answer.outcome, DEAD, "{host}: {answer:?}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_row_that_goes_beyond_its_channel_is_a_dead_letter_that_names_the_setting() {
    let server = accepting().await;
    let (port, base_url) = (server.port, server.url("/v1"));
    let open = || Settings { base_url: base_url.clone(), ..loopback() };
    for (settings, target, headers, setting) in [
        (Settings { deny_networks: networks(&["127.0.0.0/8"]), ..loopback() }, "/x", None, "deny_networks"),
        (Settings { deny_networks: networks(&["127.0.0.0/8"]), ..loopback() }, "localhost", None, "deny_networks"),
        (Settings { https_only: true, ..loopback() }, "/x", None, "https_only"),
        (Settings { ports: vec![443], ..loopback() }, "/x", None, "ports"),
        (Settings { targets: Targets::Paths, ..open() }, "URL", None, "targets"),
        (Settings { targets: Targets::Paths, ..open() }, "/..;/admin", None, "targets"),
        (
            Settings { row_headers: Some(vec!["X-Tenant".to_owned()]), ..open() },
            "/x",
            Some(r#"{"X-Other": "1"}"#),
            "row_headers",
        ),
        (Settings { row_headers: Some(vec![]), ..open() }, "/x", Some(r#"{"X-Tenant": "1"}"#), "row_headers"),
        (Settings { auth: Some(key()), ..open() }, "/x", Some(r#"{"Authorization": "1"}"#), "auth"),
    ] {
        let target = match target {
            "localhost" => format!("http://localhost:{port}/"),
            path if settings.base_url.is_empty() => server.url(path),
            "URL" => server.url("/v1/x"),
            path => path.to_owned(),
        };
        // With a base_url that the channel may not reach it would not begin at all.
        let channel = channel(&settings, Duration::from_secs(20), false);
        let mut row = delivery(&target);
        row.headers = headers.map(str::to_owned);
        let answer = channel.deliver(row).await;
        assert_eq!(answer.outcome, DEAD, "{target}: {answer:?}");
        assert!(answer.error.as_ref().unwrap().contains(setting), "{setting}: {answer:?}");
    }
    assert_eq!(server.connections(), 0);
    let settings = Settings {
        ports: vec![port],
        targets: Targets::Paths,
        row_headers: Some(vec!["X-Tenant".to_owned()]),
        ..open()
    };
    let mut row = delivery("/orders");
    row.headers = Some(r#"{"x-tenant": "7"}"#.to_owned());
    let answer = channel(&settings, Duration::from_secs(20), false).deliver(row).await;
    assert_eq!((answer.outcome, server.seen()[0].header("x-tenant")), (DELIVERED, Some("7")));
}

fn key() -> Auth {
    Auth::Header { name: "X-Api-Key".to_owned(), value: literal("s3cret") }
}

#[tokio::test]
async fn a_credential_goes_to_every_url_only_where_the_channel_says_so() {
    let (server, other) = (accepting().await, accepting().await);
    for (base_url, auth_to, goes) in [
        ("", AuthTo::Any, true),
        ("", AuthTo::BaseUrl, false),
        (&*server.url(""), AuthTo::BaseUrl, false),
        (&*server.url(""), AuthTo::Any, true),
    ] {
        let settings = Settings { base_url: base_url.to_owned(), auth: Some(key()), auth_to, ..loopback() };
        let answer = channel(&settings, Duration::from_secs(20), false).deliver(delivery(&other.url("/x"))).await;
        assert_eq!(answer.outcome, DELIVERED, "{answer:?}");
        let sent = other.seen().last().unwrap().header("x-api-key").is_some();
        assert_eq!(sent, goes, "{auth_to:?} with base_url = {base_url:?}");
    }
}

#[tokio::test]
async fn user_and_password_in_a_url_are_refused_however_they_are_written() {
    let server = accepting().await;
    let open = reaching(&["127.0.0.0/8"]);
    for user in ["joe:s3cret@", "joe@", ":s3cret@", "example.com%40:s3cret@", "example.com:80%2F@"] {
        let answer = open.deliver(delivery(&format!("http://{user}127.0.0.1:{}/", server.port))).await;
        assert_eq!(answer.outcome, DEAD, "{user}: {answer:?}");
        let error = answer.error.unwrap();
        assert!(error.contains("set channels.hooks.auth") && !error.contains("s3cret"), "{user}: {error}");
    }
    assert_eq!(server.connections(), 0);
}
