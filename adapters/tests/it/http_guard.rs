//! Which addresses a channel reaches, with real servers: also by name, and each channel its own.

use std::time::Duration;

use outbox_adapters::http::{HttpChannel, Settings};
use outbox_adapters::{Adapter, Delivery};
use outbox_schema::{DeadReason, Outcome};

use crate::http::{channel, delivery, loopback, networks};
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
