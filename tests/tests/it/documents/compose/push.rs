//! The stand-in for FCM in the fleet of docker-compose.yml: its command as a process, and a push to it.

use std::process::Stdio;

use outbox_adapters::fcm;
use outbox_tests::{eventually, outbox_binary, servers};
use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{HealthCheck, Service, compose, dispatchers, said, settings, subnets, text, texts};
use crate::outboxes::Outbox;
use crate::program::{PATIENCE, Program};

/// Where it writes what the dispatchers read, and where it listens, unless it is told otherwise.
const DIRECTORY: &str = "fcm-stand-in";
const PORT: u16 = 8443;
const CONTROL_PORT: u16 = 8480;

/// What follows a flag in a service's command.
fn argument<'a>(service: &'a Service, flag: &str) -> &'a str {
    let place = service.command.iter().position(|word| word == flag).unwrap_or_else(|| panic!("there is no {flag}"));
    &service.command[place + 1]
}

#[test]
fn the_channel_for_pushes_reaches_the_stand_in_and_reads_the_files_that_it_writes() {
    let compose = compose();
    let fcm = &compose.services["fcm"];
    assert_eq!(fcm.command[..2], ["demo", "fcm"]);
    let (_, dispatcher) = dispatchers(&compose)[0];
    let config = settings(dispatcher);
    let channel: &fcm::Settings = config.channels["push"].settings.downcast_ref().unwrap();
    assert_eq!(argument(fcm, "--host"), "fcm", "its service is called otherwise");
    assert_eq!(argument(fcm, "--listen"), "0.0.0.0", "others would not reach it");
    assert_eq!(channel.base_url, format!("https://fcm:{PORT}"));
    assert_eq!(texts(&channel.allow_networks), subnets(&compose));
    assert_eq!(fcm.ports, [format!("127.0.0.1:{CONTROL_PORT}:{CONTROL_PORT}")]);

    // Its home, where its user may write, and from where the dispatchers read.
    let mount = format!("fcm:{}", said("WORKDIR ").unwrap());
    assert_eq!(fcm.volumes, std::slice::from_ref(&mount));
    assert!(dispatcher.volumes.contains(&format!("{mount}:ro")));
    assert_eq!(channel.credentials, format!("{DIRECTORY}/service-account.json"));
    assert_eq!(channel.tls_ca, format!("{DIRECTORY}/ca.pem"));
}

/// The service's process, on this machine.
struct StandIn {
    process: Child,
    /// What it says of itself.
    places: Value,
}

impl StandIn {
    /// Runs the command of the service in the program's directory, under this machine's name and on these ports.
    async fn start(service: &Service, program: &Program, ports: [&str; 2]) -> Self {
        let here = |word: &String| match word.as_str() {
            "0.0.0.0" => "127.0.0.1".to_owned(),
            "fcm" => "localhost".to_owned(),
            word => word.to_owned(),
        };
        let mut command = Command::new(outbox_binary());
        let (subcommand, arguments) = service.command.split_at(2);
        command.args(subcommand).args(arguments.iter().map(here)).current_dir(program.path("."));
        command.args(["--json", "--port", ports[0], "--control-port", ports[1]]);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let line = BufReader::new(process.stdout.take().unwrap()).lines().next_line().await.unwrap();
        let places = serde_json::from_str(&line.expect("it says where it is")).unwrap();
        Self { process, places }
    }

    fn base_url(&self) -> &str {
        self.places["base_url"].as_str().unwrap()
    }

    /// The URL of its port for control.
    fn control(&self) -> &str {
        self.places["control"].as_str().unwrap().trim_end_matches("/control")
    }

    /// Stops it as a container is stopped that crashed, and starts it again on its ports.
    async fn restart(mut self, service: &Service, program: &Program) -> Self {
        self.process.kill().await.unwrap();
        let ports = [self.base_url(), self.control()].map(|url| url.rsplit(':').next().unwrap());
        Self::start(service, program, ports).await
    }

    /// Asks it as the service's health check does.
    async fn is_healthy(&self, service: &Service, program: &Program) {
        let HealthCheck::Asked(health) = &service.healthcheck else { panic!("nobody asks it") };
        let control = format!("http://127.0.0.1:{CONTROL_PORT}");
        let words: Vec<_> = health.test.iter().map(|word| word.replace(&control, self.control())).collect();
        let ["CMD", "outbox", arguments @ ..] = &words.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
            panic!("it is asked {words:?}")
        };
        assert_eq!(program.run(arguments).await.done(), "ok\n");
    }

    /// Waits until a device shows something.
    async fn shows(&self, path: &str) -> String {
        outbox_adapters::ensure_crypto_provider();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let shown = async || {
            let answer = client.get(format!("{}{path}", self.control())).send().await.ok()?;
            answer.text().await.ok().filter(|text| text != "[]")
        };
        eventually("the device shows the push", PATIENCE, shown).await
    }
}

/// What docs/deploy.md has people type for a push: the statement, and where they see what has come of it.
fn as_the_page_says() -> (String, String) {
    let page = text("docs/deploy.md");
    let (_, rest) = page.split_once("VALUES ('push', ").expect("docs/deploy.md inserts a push");
    let (values, rest) = rest.split_once("\"\n").unwrap();
    let (_, path) = rest.split_once("http://localhost:8480").unwrap();
    let path = path.split('\'').next().unwrap().to_owned();
    let values = values.replace("\\\"", "\"");
    (format!("INSERT INTO outbox (channel, target, payload) VALUES ('push', {values}"), path)
}

#[tokio::test]
async fn a_push_arrives_at_the_stand_in_of_the_compose_file_also_after_it_was_started_again() {
    let compose = compose();
    let fcm = &compose.services["fcm"];
    let outbox = Outbox::open(servers::postgres().await.database().await).await;
    let program = Program::new(&outbox.test.url, "");
    let stand_in = StandIn::start(fcm, &program, ["0", "0"]).await;
    let base_url = format!("https://fcm:{PORT}");
    let settings = text("docker/outbox.toml").replace(&base_url, stand_in.base_url());
    let loopback = r#""127.0.0.0/8", "::1/128""#;
    let settings = settings.replace(&format!("{:?}", subnets(&compose)[0]), loopback);
    program.write("outbox.toml", &format!("[admin]\nlisten = \"127.0.0.1:0\"\n{settings}"));
    program.run(&["migrate"]).await.done();
    let replica = program.start();

    let (statement, path) = as_the_page_says();
    stand_in.is_healthy(fcm, &program).await;
    outbox.run_client(&statement);
    assert!(stand_in.shows(&path).await.contains(r#""title":"Hello""#));
    let delivered =
        async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await == 1).then_some(());
    eventually("the push is marked", PATIENCE, delivered).await;

    let stand_in = stand_in.restart(fcm, &program).await;
    stand_in.is_healthy(fcm, &program).await;
    outbox.run_client(&statement);
    stand_in.shows(&path).await;
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}
