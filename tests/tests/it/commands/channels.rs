//! `outbox channels test` and what `outbox enqueue` asks of channels: both by the adapters of the settings.

use std::time::Duration;

use outbox_tests::fcm::{Behaviour, Options, StandIn};
use outbox_tests::servers;
use serde_json::{Value, json};

use crate::commands::command_line::small;
use crate::program::{HTTP, Program, Ran};
use crate::sink::Sink;

const SECRET: &str = "s3cret";

/// A program whose database nobody could open.
fn program(channels: &str) -> Program {
    Program::new("sqlite:///nowhere/outbox.db", channels)
}

fn shop(sink: &Sink) -> String {
    format!(
        "[channels.shop]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\nbase_url = \"{}\"\n\
         auth = {{ bearer = \"{SECRET}\" }}\nheaders = {{ X-Api-Key = \"{SECRET}\", X-Source = \"shop\" }}\n\
         signing_keys = [\"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\"]\n",
        sink.url("/hooks")
    )
}

/// The headers of a request, as an object.
fn headers(exchange: &Value, of: &str) -> Value {
    let pairs = exchange[of]["headers"].as_array().unwrap();
    pairs.iter().map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].clone())).collect()
}

#[tokio::test]
async fn a_test_message_is_shown_as_its_receiver_got_it_and_without_secrets() {
    let sink = Sink::start().await;
    let program = program(&shop(&sink));
    let test = ["channels", "test", "shop", "--target", "/orders?x=1", "--header", "X-Tenant: 7"];
    let report = program.run(&[&test[..], &["--json"]].concat()).await.json();
    assert_eq!((&report["outcome"], &report["status_code"]), (&"delivered".into(), &204.into()));
    let exchange = &report["exchanges"][0];
    let [got] = &sink.requests()[..] else { panic!("one request") };
    let (shown, request) = (headers(exchange, "request"), &exchange["request"]);
    assert_eq!((&request["method"], &request["url"]), (&"POST".into(), &sink.url("/hooks/orders?x=1").into()));
    assert_eq!(request["body"], String::from_utf8(got.body.to_vec()).unwrap());
    assert_eq!(got.headers.len(), shown.as_object().unwrap().len(), "{shown}");
    for (name, value) in &got.headers {
        let value = value.to_str().unwrap();
        let hidden = value.contains(SECRET);
        assert_eq!(shown[name.as_str()], if hidden { "***" } else { value }, "{name}");
    }
    assert!(shown["idempotency-key"].as_str().unwrap().contains("outbox-test-"), "it is marked");
    assert_eq!(exchange["answer"]["status"], 204);
    assert!(headers(exchange, "answer")["date"].is_string(), "{exchange}");

    let words = program.run(&test).await.done();
    let lines =
        ["POST http://", "authorization: ***", "x-api-key: ***", "x-source: shop", "answered 204", "Delivered, after"];
    for line in lines {
        assert!(words.lines().any(|shown| shown.starts_with(line)), "{line}: {words}");
    }
    assert!(words.contains("{\"outbox_test\": true}") && !words.contains(SECRET), "{words}");
    assert_eq!(sink.requests().len(), 2, "each test is one request");
}

/// What it prints, where the message was not delivered.
fn undelivered(ran: Ran) -> String {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.stdout
}

#[tokio::test]
async fn a_test_message_that_is_not_delivered_ends_with_1_and_says_what_a_poller_would_make_of_it() {
    let sink = Sink::start().await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let program = program(&format!("{HTTP}{}", shop(&sink)));
    for (channel, target, said) in [
        ("http", sink.url("/garbage"), "A message would be a dead letter: http://127.0.0.1:"),
        ("http", sink.url("/busy"), "A message would be sent again: http://127.0.0.1:"),
        ("shop", "/garbage".to_owned(), "or channels.shop.signing_keys"),
        ("http", format!("http://127.0.0.1:{nobody}/"), "A message would be sent again: cannot connect to"),
        ("http", "http://10.0.0.1/".to_owned(), "Nothing was sent: the target cannot be reached"),
        ("http", "ftp://a/".to_owned(), "Nothing was sent: the target has the scheme \"ftp\""),
        ("http", "/hook".to_owned(), "or give channels.http.base_url"),
    ] {
        let said_so = undelivered(program.run(&["channels", "test", channel, "--target", &target]).await);
        assert!(said_so.lines().last().unwrap().contains(said), "{target}: {said_so}");
        let sent = said_so.contains("answered 4") || said_so.contains("answered 5");
        assert_eq!(said_so.contains("refused\u{fffd}"), sent, "the beginning of the answer is shown: {said_so}");
    }
    let unknown = program.run(&["channels", "test", "htp", "--target", "/"]).await.misused();
    assert!(unknown.contains("have no channel htp (http, shop); did you mean http?"), "{unknown}");
    let broken = program.run(&["channels", "test", "http", "--target", "http://a/", "--payload", "{"]).await.failed();
    assert!(broken.contains("payload: it is not JSON"), "{broken}");
    let listed = program.run(&["channels", "list", "--json"]).await.json();
    assert_eq!((&listed[0]["name"], &listed[0]["base_url"]), (&"http".into(), &json!(null)));
    assert_eq!((&listed[1]["name"], &listed[1]["base_url"]), (&"shop".into(), &sink.url("/hooks").into()));
}

#[tokio::test]
async fn a_test_push_is_shown_with_fcms_name_of_it_and_without_its_token() {
    let stand_in = StandIn::start(&Options { latency: Duration::ZERO, ..Options::default() }).unwrap();
    let program = program(&stand_in.channel("push"));
    let test = ["channels", "test", "push", "--target", "token:my-phone"];
    let words = program.run(&test).await.done();
    assert!(words.starts_with("POST ") && words.contains("authorization: ***\n"), "{words}");
    assert!(words.contains(r#""outbox_test":"true""#) && words.contains("Delivered as projects/"), "{words}");
    assert!(!words.contains("ya29"), "{words}");
    assert_eq!(stand_in.counts().accepted, 1);

    stand_in.behave(&Behaviour { tokens_down: Some(true), ..Behaviour::default() });
    let words = undelivered(program.run(&test).await);
    assert!(words.contains("The channel would wait: cannot get an access token"), "{words}");
    assert!(words.contains("/token answered 503: temporarily_unavailable"), "{words}");
}

#[tokio::test]
async fn what_would_be_dead_for_certain_is_not_enqueued_unless_it_is_forced() {
    let channels = "[channels.signed]\nkind = \"http\"\nbase_url = \"https://shop.example\"\n\
                    signing_keys = [\"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\"]\n\
                    [channels.push]\nkind = \"fcm\"\nproject_id = \"shop\"\n";
    let program = Program::new(&servers::sqlite().url, &format!("{HTTP}{channels}"));
    program.run(&["migrate"]).await.done();
    let cases: [(&[&str], &str); 8] = [
        (&["--channel", "http", "--target", "/hook"], "give channels.http.base_url"),
        (&["--channel", "http", "--target", "ftp://a/"], "only http and https are spoken"),
        (&["--channel", "http", "--target", "http://10.0.0.1/"], "the target cannot be reached"),
        (
            &["--channel", "http", "--target", "http://127.0.0.1/", "--header", "Idempotency-Key: 1"],
            "header idempotency-key is set by the channel",
        ),
        (&["--channel", "http", "--target", "http://127.0.0.1/", "--header", "Host: a"], "belongs to the connection"),
        (&["--channel", "signed", "--target", "/", "--idempotency-key", "a.b"], "idempotency key cannot be signed"),
        (&["--channel", "push", "--target", "token:a"], "data"),
        (&["--channel", "push", "--target", "https://a.example/"], "target"),
    ];
    for (arguments, said) in cases {
        let message = [&["enqueue", "--payload", r#"{"data": {"n": 1}}"#], arguments].concat();
        let refused = program.run(&message).await.failed();
        assert!(refused.contains(said) && refused.contains("nothing was inserted"), "{arguments:?}: {refused}");
        assert!(refused.contains("--force"), "{refused}");
        // What is wrong whatever the channel is cannot be forced.
        let forced = program.run(&[&message[..], &["--force"]].concat()).await;
        assert!(forced.code == Some(0) || forced.stderr.contains("https://a.example/"), "{arguments:?}: {forced:?}");
    }
    let waiting = program.run(&["messages", "list", "--json"]).await.json();
    assert_eq!(
        waiting["messages"].as_array().unwrap().len(),
        7 + usize::from(waiting.to_string().contains("a.example"))
    );
}

#[tokio::test]
async fn of_many_lines_the_wrong_ones_are_named_and_none_is_inserted() {
    let program = small().await;
    let line = |target: &str| format!(r#"{{"channel":"http","target":"{target}","payload":1}}"#);
    let lines = [line("http://127.0.0.1/"), line("/a"), line("http://127.0.0.1/b"), line("ftp://c/")].join("\n");
    let refused = program.feed(&["enqueue", "--lines", "-"], &lines).await.failed();
    assert!(refused.contains("message 2: the target is not a URL"), "{refused}");
    assert!(refused.contains("message 4: the target has the scheme"), "{refused}");
    let none = program.run(&["messages", "list", "--json"]).await.json();
    assert_eq!(none["messages"], json!([]));
    let said = program.feed(&["enqueue", "--lines", "-", "--force"], &lines).await.done();
    assert_eq!(said, "4 messages enqueued, 0 were there already\n");
}

#[tokio::test]
async fn what_is_only_doubtful_is_enqueued_with_a_warning() {
    let program = Program::new(
        &servers::sqlite().url,
        &format!(
            "{HTTP}max_message_bytes = \"1 KiB\"\n[channels.away]\nkind = \"http\"\nbase_url = \"https://a.example\"\nauth = {{ bearer = {{ file = \"nowhere\" }} }}\n"
        ),
    );
    program.run(&["migrate"]).await.done();
    let long = format!("\"{}\"", "x".repeat(2000));
    for (channel, target, payload, said) in [
        (
            "htp",
            "http://127.0.0.1/",
            "{}",
            "the settings here have no channel htp (did you mean http?): the message waits",
        ),
        ("elsewhere", "/", "{}", "no channel elsewhere: the message waits until those of the replicas have it"),
        ("http", "http://127.0.0.1/", long.as_str(), "max_message_bytes of channel http is 1024"),
        ("away", "/", "{}", "what goes to channel away was not examined: channels.away.auth"),
    ] {
        let message = ["enqueue", "--channel", channel, "--target", target, "--payload", payload];
        let ran = program.run(&message).await;
        assert!(ran.code == Some(0) && ran.stderr.contains(said), "{channel}: {ran:?}");
    }
    let good = program.run(&["enqueue", "--channel", "http", "--target", "http://127.0.0.1/", "--payload", "1"]).await;
    assert_eq!((good.code, good.stderr.as_str()), (Some(0), ""));
}
