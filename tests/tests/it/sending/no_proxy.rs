//! The environment of a replica often names a proxy, for other programs.

use outbox_schema::NewMessage;
use outbox_tests::servers;
use serde_json::json;

use crate::outboxes::Outbox;
use crate::program::Program;
use crate::sink::Sink;

#[tokio::test]
async fn a_proxy_of_the_environment_is_not_asked() {
    let outbox = Outbox::open(servers::sqlite()).await;
    Box::pin(outbox.database.migrate("default")).await.unwrap();
    let (sink, proxy) = (Sink::start().await, Sink::start().await);
    outbox.enqueue(&[NewMessage::http(sink.url("/hook")).json(&json!({}))]).await;
    let settings = "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n";
    let program = Program::new(&outbox.test.url, settings);
    let mut replica = program.command(&["run", "--until-empty"]);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        replica.env(name, proxy.url(""));
    }
    assert!(replica.status().await.unwrap().success());
    assert_eq!((sink.requests().len(), proxy.requests().len()), (1, 0));
}
