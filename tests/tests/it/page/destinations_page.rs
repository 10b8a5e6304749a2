//! docs/destinations.md, run as it is written: its commands, and the statements by which an application prunes its tokens.

use std::process::Stdio;

use outbox_store::Dialect;
use outbox_tests::outbox_binary;
use tokio::process::Command;

use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, Program};

const PAGE: &str = include_str!("../../../../docs/destinations.md");

const CHANNELS: &str = "[channels.fcm]\nkind = \"fcm\"\nproject_id = \"shop\"\n";

/// What stands in the blocks of the page that begin with such a line.
fn blocks(kind: &str) -> Vec<&'static str> {
    let open = format!("```{kind}\n");
    PAGE.split(&open).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[tokio::test]
async fn every_command_of_the_page_does_what_it_is_there_for() {
    let outbox = &outboxes::migrated().await[2];
    let program = Program::new(&outbox.test.url, &format!("{HTTP}{CHANNELS}"));
    outbox
        .sql("INSERT INTO outbox (id, channel, target, payload) VALUES (17, 'http', 'https://shop.example/x', '{}')")
        .await;
    let old = "INSERT INTO outbox_invalid_target (channel, target, observed_at) VALUES ('fcm', 'old', 978307200000), ('fcm', 'new', 4102444800000)";
    outbox.sql(old).await;
    let mut commands = 0;
    for command in blocks("sh").into_iter().flat_map(str::lines).filter(|line| !line.is_empty()) {
        let folder = outbox_binary().parent().unwrap().display().to_string();
        let ended = Command::new("sh")
            .args(["-c", command])
            .env_clear()
            .env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()))
            .env("OUTBOX_DATABASE__URL", program.database())
            .current_dir(program.path("."))
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        assert!(ended.status.success(), "{command}: {ended:?}");
        commands += 1;
        if command.contains(" pause ") {
            let name = if command.contains("https") { "https://shop.example:443" } else { "http" };
            let paused =
                format!("SELECT count(*) FROM outbox_destination WHERE pause_kind = 'hand' AND destination = '{name}'");
            assert_eq!(outbox.number(&paused).await, 1, "{command}");
        }
    }
    assert!(commands >= 10, "{commands}");
    assert_eq!(
        outbox.number("SELECT count(*) FROM outbox_destination WHERE pause_kind IS NOT NULL").await,
        0,
        "resumed"
    );
    assert_eq!(outbox.text("SELECT target FROM outbox_invalid_target").await, "new");
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 5);
}

#[tokio::test]
async fn an_application_prunes_its_own_tokens_by_one_statement_and_one_more_right() {
    for granted in crate::database::grants::granted().await {
        let (owner, role) = (&granted.owner, &granted.application_role);
        let (kind, who, table) = match owner.dialect() {
            Dialect::Postgres => ("sql postgres", role.clone(), "dispatcher.device_tokens"),
            Dialect::MySql | Dialect::Sqlite => ("sql mysql", format!("'{role}'@'%'"), "device_tokens"),
        };
        let time = if owner.dialect() == Dialect::Postgres { "timestamptz" } else { "datetime(6)" };
        let [statement] = blocks(kind)[..] else { panic!("one statement of {kind}") };
        let [grant] = blocks("sql grant")[..] else { panic!("one grant") };
        owner.sql(&format!("CREATE TABLE {table} (token varchar(255) NOT NULL, last_seen_at {time} NOT NULL)")).await;
        owner.sql(&format!("GRANT SELECT, DELETE ON {table} TO {who}")).await;
        for (token, seen) in
            [("dead", "2001-01-01"), ("DEAD", "2001-01-01"), ("back", "2100-01-01"), ("alive", "2001-01-01")]
        {
            owner.sql(&format!("INSERT INTO {table} VALUES ('{token}', '{seen} 00:00:00')")).await;
        }
        let gone = "INSERT INTO outbox_invalid_target (channel, target) VALUES ('fcm', 'dead'), ('fcm', 'back'), ('other', 'alive')";
        owner.sql(gone).await;

        crate::database::grants::refused(&granted.application, owner.dialect(), statement.trim()).await;
        owner.sql(&grant.replace("shop", &who)).await;
        outboxes::transaction(&granted.application, &[outboxes::Step::Sql(statement.trim())], "COMMIT").await;
        assert_eq!(tokens(owner, table).await, ["DEAD", "alive", "back"], "{:?}", owner.dialect());
    }
}

async fn tokens(owner: &Outbox, table: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let count = owner.number(&format!("SELECT count(*) FROM {table}")).await;
    for place in 0..count {
        tokens.push(owner.text(&format!("SELECT token FROM {table} ORDER BY token LIMIT 1 OFFSET {place}")).await);
    }
    tokens.sort();
    tokens
}
