//! docs/fcm.md, as it is written.

use outbox_tests::fcm::{Options, StandIn};
use outbox_tests::{outbox_binary, servers};
use tokio::process::Command;

use crate::program::Program;

const PAGE: &str = include_str!("../../../../docs/fcm.md");

/// The nth block in that language.
fn block(language: &str, n: usize) -> &'static str {
    let rest = PAGE.split(&format!("\n```{language}\n")).nth(n + 1).unwrap();
    rest.split_once("\n```").unwrap().0
}

#[tokio::test]
async fn a_push_without_a_firebase_project_goes_as_the_page_says() {
    let program = Program::new(&servers::sqlite().url, "");
    let stand_in =
        StandIn::start(&Options { directory: Some(program.path("fcm-stand-in")), ..Options::default() }).unwrap();
    let places = stand_in.places();
    let with_ports = |text: &str| {
        let control = places.control.trim_end_matches("/control");
        text.replace("https://localhost:8443", &places.base_url).replace("http://localhost:8480", control)
    };
    let settings = format!("[admin]\nlisten = \"127.0.0.1:0\"\n{}", with_ports(block("toml", 1)));
    program.write("outbox.toml", &settings);
    let commands = with_ports(block("sh", 1));
    assert_eq!(commands.lines().count(), 5);
    let folder = outbox_binary().parent().unwrap().display().to_string();
    let output = Command::new("sh")
        .args(["-ec", &commands])
        .env_clear()
        .env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()))
        .env("OUTBOX_DATABASE__URL", program.database())
        .current_dir(program.path("."))
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("project demo-project: has an access token for 59 more minutes"), "{said}");
    assert!(said.contains(r#""notification":{"title":"Hello"}"#), "{said}");
    assert_eq!(stand_in.counts().accepted, 1);
}
