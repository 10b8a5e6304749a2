//! README.md and docs/deploy.md: what they have people type, typed.

use std::process::Stdio;

use outbox_store::Dialect;
use outbox_tests::{eventually, outbox_binary, servers};
use tokio::process::Command;

use crate::outboxes::{self, Outbox};
use crate::program::{PATIENCE, Program};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const README: &str = include_str!("../../../../README.md");
const DEPLOY: &str = include_str!("../../../../docs/deploy.md");

/// The blocks for a shell, each with the line before it.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let (mut blocks, mut before) = (Vec::new(), "");
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if ["```sh", "```console", "```bash"].contains(&line.trim()) {
            let block: Vec<_> = lines.by_ref().take_while(|line| line.trim() != "```").map(str::trim_start).collect();
            blocks.push((before, block.join("\n")));
        }
        before = line.trim();
    }
    blocks
}

/// The one that this test is named at.
fn block(page: &str, test: &str, nth: usize) -> String {
    let named = blocks(page).into_iter().filter(|(before, _)| before.starts_with(&format!("<!-- run by {test}")));
    named.map(|(_, block)| block).nth(nth).unwrap_or_else(|| panic!("no block is run by {test}"))
}

/// Types it into a shell, in a checkout's folder or in that of the program, and gives what is printed.
async fn typed(commands: &str, home: &Program, in_checkout: bool) -> String {
    let folder = outbox_binary().parent().unwrap().display().to_string();
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", commands]).env_clear().kill_on_drop(true);
    shell.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
    let settings = home.path("outbox.toml");
    if settings.exists() {
        shell.env("OUTBOX_CONFIG", settings);
    }
    shell.env("OUTBOX_ADMIN__LISTEN", "127.0.0.1:0");
    shell.current_dir(if in_checkout { ROOT.into() } else { home.path(".") });
    let ended = tokio::time::timeout(PATIENCE, shell.stdin(Stdio::null()).output());
    let output = ended.await.unwrap_or_else(|_| panic!("these do not end: {commands}")).unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{commands}\n{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The text with each of these replaced, which it has to hold.
fn with(text: &str, replacements: &[(&str, &str)]) -> String {
    replacements.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from} is not in {text}");
        text.replace(from, to)
    })
}

#[test]
fn each_block_for_a_shell_is_run_or_says_why_not() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let sources = ["documents/documents.rs", "commands/demo.rs"]
        .map(|file| std::fs::read_to_string(format!("{folder}/{file}")).unwrap());
    for (name, page) in [("README.md", README), ("docs/deploy.md", DEPLOY)] {
        for (before, block) in blocks(page) {
            if let Some(test) = before.strip_prefix("<!-- run by ") {
                let test = test.trim_end_matches("-->").split(',').next().unwrap().trim();
                assert!(sources.iter().any(|source| source.contains(&format!("fn {test}("))), "{name}: no test {test}");
            } else {
                assert!(before.starts_with("<!-- not run: "), "{name}: say by which test this is run: {block}");
            }
        }
    }
}

#[tokio::test]
async fn the_first_message_of_the_readme_arrives() {
    let home = Program::new("sqlite://outbox.db", "");
    // Nothing is set.
    std::fs::remove_file(home.path("outbox.toml")).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let commands = with(
        &block(README, "the_first_message_of_the_readme_arrives", 0),
        &[
            ("outbox demo receiver & ", &format!("outbox demo receiver --listen {free} & ")),
            ("127.0.0.1:8080", &free),
            ("\noutbox run", &format!("\nuntil curl --silent {free} >/dev/null; do sleep 0.1; done\noutbox run")),
        ],
    );
    // A person's shell keeps the receiver until it is closed.
    let said = typed(&format!("trap 'kill %1' EXIT\n{commands}"), &home, false).await;
    assert!(said.contains("SUCCESS"), "{said}");
    assert!(said.contains("messages         1"), "{said}");
}

#[tokio::test]
async fn a_certificate_of_the_documents_is_no_authority_and_bears_its_name() {
    let test = "a_certificate_of_the_documents_is_no_authority_and_bears_its_name";
    for (nth, authority) in ["server.crt", "ca.crt"].into_iter().enumerate() {
        let home = Program::new("sqlite://outbox.db", "");
        let shown = format!("openssl verify -CAfile {authority} server.crt\nopenssl x509 -in server.crt -noout -text");
        let said = typed(&format!("{}\n{shown}", block(DEPLOY, test, nth)), &home, false).await;
        for words in ["server.crt: OK", "CA:FALSE", "DNS:db.example"] {
            assert!(said.contains(words), "{authority}: {words} is missing from {said}");
        }
    }
}

/// An outbox, and names of roles that no other test has.
async fn with_roles(outbox: &Outbox) -> [String; 2] {
    let unique = &outbox.test.name[outbox.test.name.len() - 12..];
    let roles = ["shop", "runs"].map(|role| format!("{role}_{unique}"));
    for role in &roles {
        outbox
            .sql(&match outbox.dialect() {
                Dialect::Postgres => format!("CREATE ROLE {role} LOGIN"),
                Dialect::MySql | Dialect::Sqlite => format!("CREATE USER '{role}'@'%'"),
            })
            .await;
    }
    roles
}

#[tokio::test]
async fn the_six_commands_of_the_readme_make_a_fleet() {
    let outbox = Outbox::open(servers::postgres().await.database().await).await;
    let redis = servers::redis().await.url();
    let [shop, runs] = with_roles(&outbox).await;
    let home = Program::new(&outbox.test.url, "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n");
    let as_runs = outbox.test.url.replacen("postgres@", &format!("{runs}@"), 1);
    let commands = with(
        &block(README, "the_six_commands_of_the_readme_make_a_fleet", 0),
        &[
            ("postgres://owner:…@db/shop", &outbox.test.url),
            ("postgres://owner@db/shop", &outbox.test.url),
            ("application=shop", &format!("application={shop}")),
            ("dispatcher=outbox", &format!("dispatcher={runs}")),
            ("postgres://outbox:…@db/shop", &as_runs),
            ("rediss://outbox:…@redis:6379", &redis),
            ("outbox run", "outbox run --until-empty"),
        ],
    );
    // As the application.
    let sink = crate::sink::Sink::start().await;
    let target = sink.url("/");
    let insert = format!("INSERT INTO outbox (channel, target, payload) VALUES ('http', '{target}', '{{}}')");
    let (before, run) = commands.rsplit_once('\n').unwrap();
    let said = typed(before, &home, true).await;
    assert!(!said.contains("FAILED"), "{said}");
    outbox.sql(&format!("SET ROLE {shop}; {insert}; RESET ROLE")).await;
    let exports: Vec<_> = before.lines().filter(|line| line.starts_with("export")).collect();
    typed(&format!("{}\n{run}", exports.join("\n")), &home, true).await;
    assert_eq!(sink.requests().len(), 1);

    let page = block(DEPLOY, "the_six_commands_of_the_readme_make_a_fleet", 0);
    for command in page.lines().filter_map(|line| line.split(" #").next()).map(str::trim_end) {
        let known = block(README, "the_six_commands_of_the_readme_make_a_fleet", 0);
        assert!(known.contains(command), "{command} is in docs/deploy.md and not in README.md");
    }
}

#[tokio::test]
async fn the_commands_of_the_deploy_page_make_tables_and_rights() {
    let [postgres, mysql, _] = outboxes::empty().await;
    for (nth, outbox) in [postgres, mysql].into_iter().enumerate() {
        let [shop, runs] = with_roles(&outbox).await;
        let home = Program::new(&outbox.test.url, "");
        let url = url::Url::parse(&outbox.test.url).unwrap();
        let (name, port) = (&outbox.test.name, url.port().unwrap().to_string());
        let text = block(DEPLOY, "the_commands_of_the_deploy_page_make_tables_and_rights", nth);
        let commands = match outbox.dialect() {
            Dialect::Postgres => with(
                &text,
                &[
                    ("postgres://outbox_owner:…@db/shop", &outbox.test.url),
                    ("postgres://outbox_owner@db/shop", &outbox.test.url),
                    ("application=shop", &format!("application={shop}")),
                    ("dispatcher=outbox", &format!("dispatcher={runs}")),
                ],
            ),
            Dialect::MySql | Dialect::Sqlite => with(
                &text,
                &[
                    ("mysql://outbox_owner:…@db/shop", &outbox.test.url),
                    ("'shop'@", &format!("'{shop}'@")),
                    ("'outbox'@", &format!("'{runs}'@")),
                    (
                        "--host=db --user=outbox_owner --password shop",
                        &format!("--no-defaults --host=127.0.0.1 --port={port} --user=outbox {name}"),
                    ),
                ],
            ),
        };
        typed(&commands, &home, true).await;
        let as_runs = Program::new(&outbox.test.url.replacen(url.username(), &runs, 1), "");
        assert!(!as_runs.run(&["check"]).await.stdout.contains("FAILED"));
    }
}

#[tokio::test]
async fn the_readmes_commands_for_dead_letters_bring_one_back() {
    let outbox = Outbox::open(servers::sqlite()).await;
    outbox.database.migrate("default").await.unwrap();
    let home = Program::new(&outbox.test.url, "");
    outbox.sql("INSERT INTO outbox (id, channel, target, payload) VALUES (17, 'http', 'nowhere', '{}')").await;
    home.deliver().await;
    let dead = async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await == 1).then_some(());
    eventually("it is dead", PATIENCE, dead).await;
    let commands = block(README, "the_readmes_commands_for_dead_letters_bring_one_back", 0);
    let database = format!("export OUTBOX_DATABASE__URL='{}'\n", outbox.test.url);
    typed(&format!("{database}{commands}"), &home, false).await;
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await, 1);
}
