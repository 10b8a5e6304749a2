//! What `outbox check` and the start of `outbox run` try on the server before anything is sent.

use outbox_schema::Dialect;

use crate::grants::{Granted, SCHEMA, granted};
use crate::outboxes;
use crate::program::Program;

const HTTP: &str = "[channels.http]\nkind = \"http\"\n";

fn settings(granted: &Granted) -> String {
    match granted.owner.dialect() {
        Dialect::Postgres => format!("[database]\nschema = \"{SCHEMA}\"\n{HTTP}"),
        Dialect::MySql | Dialect::Sqlite => HTTP.to_owned(),
    }
}

#[tokio::test]
async fn a_message_goes_through_its_whole_life_and_nothing_of_it_stays() {
    for outbox in outboxes::each().await {
        outbox.database.trial().await.unwrap();
        for table in ["outbox", "outbox_claim", "outbox_attempt", "outbox_term_log"] {
            assert_eq!(outbox.number(&format!("SELECT count(*) FROM {table}")).await, 0, "{table}");
        }
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_term").await, 1);
    }
}

#[tokio::test]
async fn the_shipped_rights_suffice() {
    for granted in granted().await {
        let program = Program::new(&granted.dispatcher, &settings(&granted));
        let checked = program.run(&["check"]).await.done();
        let line = checked.lines().find(|line| line.starts_with("work")).unwrap();
        assert!(line.contains("ok") && line.contains("rolled back"), "{checked}");
    }
}

#[tokio::test]
async fn a_role_that_may_not_mark_is_told_before_it_sends() {
    for granted in granted().await {
        let table = if granted.owner.dialect() == Dialect::Postgres { "dispatcher.outbox" } else { "outbox" };
        granted.owner.run_client(&format!("REVOKE UPDATE ON {table} FROM {};", granted.dispatcher_role));
        let program = Program::new(&granted.dispatcher, &settings(&granted));
        let checked = program.run(&["check"]).await;
        assert_eq!(checked.code, Some(1), "{checked:?}");
        let line = checked.stdout.lines().find(|line| line.starts_with("work")).unwrap();
        assert!(line.contains("FAILED") && line.contains("denied"), "{line}");
        let run = program.run(&["run", "--until-empty"]).await;
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("did not let the dispatcher") && run.stderr.contains("denied"), "{}", run.stderr);
    }
}

#[tokio::test]
async fn row_level_security_that_hides_the_rows_from_the_dispatcher_is_named() {
    let [granted, _] = granted().await;
    granted.owner.run_client(
        "ALTER TABLE dispatcher.outbox ENABLE ROW LEVEL SECURITY;
         CREATE POLICY insert_only ON dispatcher.outbox FOR INSERT WITH CHECK (true);",
    );
    let checked = Program::new(&granted.dispatcher, &settings(&granted)).run(&["check"]).await;
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.stdout.contains("BYPASSRLS"), "{}", checked.stdout);
}
