//! SIGHUP: what a replica takes up while it runs, and what it does not.

use outbox_schema::NewMessage;
use outbox_tests::eventually;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::listener::readiness::get;
use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program, Replica};
use crate::sink::Sink;

/// A message of the channel `hook`, whose settings say where it goes.
fn to_hook(key: &str) -> NewMessage {
    NewMessage::new("hook", "/", "1").idempotency_key(key)
}

fn hook(address: &str, more: &str) -> String {
    format!(
        "{HTTP}[channels.hook]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\nbase_url = \"{address}\"\n{more}\n"
    )
}

async fn one(test: outbox_tests::servers::TestDatabase) -> Outbox {
    let outbox = Outbox::open(test).await;
    outbox.database.migrate("default").await.unwrap();
    outbox
}

async fn is_in(outbox: &Outbox, key: &str, status: &str) {
    let select = format!("SELECT count(*) FROM outbox WHERE idempotency_key = '{key}' AND status = '{status}'");
    let is = async || (outbox.number(&select).await == 1).then_some(());
    eventually(&format!("{key} is {status}"), PATIENCE, is).await;
}

async fn stop(replica: Replica) {
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

/// The head of a request, and the connection on which it waits for its answer.
async fn asked(listener: &TcpListener) -> (TcpStream, String) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = String::new();
    while !head.contains("\r\n\r\n") {
        let mut bytes = [0; 1024];
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "{head}");
        head += std::str::from_utf8(&bytes[..read]).unwrap();
    }
    (stream, head)
}

/// Answers, and hangs up once the other side has. To close while some of the body is unread would take the answer back.
async fn answer(mut stream: TcpStream) {
    stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await.unwrap();
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}

#[tokio::test]
async fn a_channel_that_is_added_is_sent_what_waited_for_it() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        replica.says("term.began").await;
        outbox.enqueue(&[to_hook("early")]).await;
        // It is put off for minutes.
        replica.says("poll.deferred").await;
        program.set(&hook(&sink.url(""), ""));
        replica.hang_up();
        let said = replica.says("settings.reloaded").await;
        assert!(said.contains("hook") && said.contains("http"), "{said}");
        is_in(&outbox, "early", "SUCCESS").await;
        stop(replica).await;
    }
}

#[tokio::test]
async fn what_is_on_the_wire_ends_by_the_settings_it_was_claimed_under() {
    let outbox = one(outbox_tests::servers::sqlite()).await;
    let receiver = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", receiver.local_addr().unwrap());
    // However long the rest takes on a busy machine, the answer comes in time.
    let program = Program::new(&outbox.test.url, &hook(&address, "timeout = \"2m\""));
    outbox.enqueue(&[to_hook("before")]).await;
    let mut replica = program.start();
    let (stream, _) = asked(&receiver).await;
    program.set(HTTP);
    replica.hang_up();
    replica.says("settings.reloaded").await;
    outbox.enqueue(&[to_hook("after")]).await;
    replica.says("poll.deferred").await;
    answer(stream).await;
    is_in(&outbox, "before", "SUCCESS").await;
    is_in(&outbox, "after", "PENDING").await;
    stop(replica).await;
}

#[tokio::test]
async fn a_secret_in_a_file_is_read_anew() {
    let outbox = one(outbox_tests::servers::sqlite()).await;
    let receiver = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", receiver.local_addr().unwrap());
    let program = Program::new(&outbox.test.url, &hook(&address, "auth = { bearer = { file = \"token\" } }"));
    program.write("token", "first-token\n");
    let mut replica = program.start();
    replica.listener().await;
    for (key, token) in [("a", "first-token"), ("b", "second-token")] {
        program.write("token", token);
        replica.hang_up();
        replica.says("settings.reloaded").await;
        outbox.enqueue(&[to_hook(key)]).await;
        let (stream, head) = asked(&receiver).await;
        assert!(head.contains(&format!("authorization: Bearer {token}\r\n")), "{head}");
        answer(stream).await;
        is_in(&outbox, key, "SUCCESS").await;
    }
    stop(replica).await;
}

#[tokio::test]
async fn the_tokens_of_the_listener_are_replaced_and_never_taken_away_from_one_that_others_reach() {
    let outbox = one(outbox_tests::servers::sqlite()).await;
    let program = Program::new(&outbox.test.url, "");
    let settings = |listen: &str, token: &str| format!("[admin]\nlisten = \"{listen}\"\n{token}\n{HTTP}");
    program.write("outbox.toml", &settings("0.0.0.0:0", "token = \"first-token\""));
    let mut replica = program.start();
    let address = replica.listener().await.replace("0.0.0.0", "127.0.0.1");
    let asks = async |token: &str| {
        program.run(&["status", "--url", &address, "--set", &format!("admin.token={token}")]).await.code
    };
    assert_eq!(asks("first-token").await, Some(0));
    program.write("outbox.toml", &settings("0.0.0.0:0", "token = \"second-token\""));
    replica.hang_up();
    let said = replica.says("settings.reloaded").await;
    assert!(!said.contains("second-token"), "{said}");
    assert_eq!((asks("first-token").await, asks("second-token").await), (Some(1), Some(0)));

    program.write("outbox.toml", &settings("127.0.0.1:0", ""));
    replica.hang_up();
    let refused = replica.says("settings.not_reloaded").await;
    assert!(refused.contains("can be reached from other machines"), "{refused}");
    assert_eq!((asks("").await, asks("second-token").await), (Some(1), Some(0)));
    stop(replica).await;
}

#[tokio::test]
async fn wrong_settings_are_named_and_change_nothing() {
    let outbox = one(outbox_tests::servers::sqlite()).await;
    let sink = Sink::start().await;
    let program = Program::new(&outbox.test.url, &hook(&sink.url(""), ""));
    let mut replica = program.start();
    replica.listener().await;
    for (wrong, named) in [
        (format!("{HTTP}timeout = \"soon\"\n"), "channels.http.timeout"),
        (hook(&sink.url(""), "tls_ca = \"not-there.pem\""), "not-there.pem"),
        ("no toml".to_owned(), "outbox.toml:3"),
        (String::new(), "the settings file is gone or empty"),
    ] {
        if wrong.is_empty() {
            std::fs::remove_file(program.path("outbox.toml")).unwrap();
        } else {
            program.set(&wrong);
        }
        replica.hang_up();
        let refused = replica.says("settings.not_reloaded").await;
        assert!(refused.contains(named), "{refused}");
        outbox.enqueue(&[to_hook(named)]).await;
        is_in(&outbox, named, "SUCCESS").await;
    }
    stop(replica).await;
}

#[tokio::test]
async fn settings_that_were_refused_are_told_wherever_the_replica_speaks_of_itself_until_others_are_taken_up() {
    let outbox = one(outbox_tests::servers::sqlite()).await;
    let program = Program::new(&outbox.test.url, HTTP);
    let mut replica = program.start();
    let listener = replica.listener().await;
    let shows = async |metric: &str| get(&listener, "/metrics").await.1.contains(metric).then_some(());
    eventually("the start was taken up", PATIENCE, async || shows("outbox_config_reload_successful 1").await).await;

    program.set(&format!("{HTTP}timeout = \"soon\"\n"));
    replica.hang_up();
    replica.says("settings.not_reloaded").await;
    assert!(shows("outbox_config_reload_successful 0").await.is_some());
    let told = "the settings of before are in force until a restart, which reads the same: ";
    let notes = async || get(&listener, "/readyz").await.1.contains(told).then_some(());
    eventually("/readyz has it in its notes", PATIENCE, notes).await;
    let page = async || get(&listener, "/").await.1.contains(told).then_some(());
    eventually("the page has it", PATIENCE, page).await;
    for command in ["replicas", "status"] {
        let said = async || {
            let ran = program.run(&[command]).await;
            assert!(ran.stderr.contains("settings of channels are wrong") && ran.code == Some(0), "{ran:?}");
            ran.stdout.contains("channels.http.timeout").then_some(())
        };
        eventually("the commands say it beside the wrong settings", PATIENCE, said).await;
    }

    program.set(HTTP);
    replica.hang_up();
    replica.says("settings.reloaded").await;
    assert!(shows("outbox_config_reload_successful 1").await.is_some());
    let over = async || (!get(&listener, "/readyz").await.1.contains(told)).then_some(());
    eventually("/readyz has it no more", PATIENCE, over).await;
    stop(replica).await;
}

#[tokio::test]
async fn what_only_a_restart_takes_up_is_named_and_the_rest_is_taken_up() {
    let outbox = one(outbox_tests::servers::sqlite()).await;
    let sink = Sink::start().await;
    let program = Program::new(&outbox.test.url, HTTP);
    let mut replica = program.start();
    replica.says("term.began").await;
    program.set(&format!("{}[lease]\nttl = \"7s\"\n[dispatch]\nmax_in_flight = 9\n", hook(&sink.url(""), "")));
    replica.hang_up();
    let said = replica.says("settings.restart_needed").await;
    assert!(said.contains(r#"["lease.ttl", "dispatch.max_in_flight"]"#), "{said}");
    outbox.enqueue(&[to_hook("a")]).await;
    is_in(&outbox, "a", "SUCCESS").await;
    stop(replica).await;
}
