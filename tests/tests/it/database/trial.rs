//! What `outbox check` and the start of `outbox run` try on the server before anything is sent.

use outbox_store::Dialect;

use crate::database::grants::{Granted, SCHEMA, granted};
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

/// What `check` says to give, until it says no more.
async fn give_what_is_missing(granted: &Granted, program: &Program) -> String {
    for _ in 0..3 {
        let checked = program.run(&["check"]).await;
        let missing: Vec<_> = ["missing: GRANT ", "gives the right: GRANT "]
            .iter()
            .flat_map(|words| checked.stdout.match_indices(words))
            .filter_map(|(at, _)| checked.stdout[at..].split_once(": "))
            .collect();
        let missing: Vec<_> =
            missing.iter().filter_map(|(_, rest)| Some(format!("{};", rest.split_once(';')?.0))).collect();
        if missing.is_empty() {
            return checked.done();
        }
        granted.owner.run_client(&missing.join("\n"));
    }
    panic!("the rights that are named do not suffice: {}", program.run(&["check"]).await.stdout);
}

#[tokio::test]
async fn each_missing_right_is_named_by_the_statement_that_gives_it() {
    for granted in granted().await {
        let role = &granted.dispatcher_role;
        let postgres = granted.owner.dialect() == Dialect::Postgres;
        let all = if postgres {
            format!(
                "REVOKE ALL ON ALL TABLES IN SCHEMA {SCHEMA} FROM {role};
                 REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {SCHEMA} FROM {role};"
            )
        } else {
            // What is left lets it connect.
            format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {role}; GRANT SELECT ON outbox_lease TO {role};")
        };
        granted.owner.run_client(&all);
        let program = Program::new(&granted.dispatcher, &settings(&granted));
        let checked = give_what_is_missing(&granted, &program).await;
        assert!(checked.lines().any(|line| line.starts_with("rights") && line.contains("ok")), "{checked}");
        // Whoever has more than that lacks nothing.
        let owner = Program::new(&granted.owner.test.url, &settings(&granted)).run(&["check"]).await.done();
        assert!(owner.contains("all that the shipped grants give"), "{owner}");
    }
}

/// A right to some of the columns is a right to all of them that is missing.
#[tokio::test]
async fn a_role_that_has_a_right_to_some_columns_only_is_told_of_the_right_to_the_table() {
    for granted in granted().await {
        let role = &granted.dispatcher_role;
        let table = if granted.owner.dialect() == Dialect::Postgres { "dispatcher.outbox" } else { "outbox" };
        granted
            .owner
            .run_client(&format!("REVOKE UPDATE ON {table} FROM {role}; GRANT UPDATE (status) ON {table} TO {role};"));
        let program = Program::new(&granted.dispatcher, &settings(&granted));
        let checked = program.run(&["check"]).await;
        let missing: Vec<_> = checked.stdout.lines().filter(|line| line.contains("missing: GRANT")).collect();
        assert!(
            checked.code == Some(1) && missing.len() == 1 && missing[0].contains("GRANT UPDATE ON "),
            "{checked:?}"
        );
        give_what_is_missing(&granted, &program).await;
    }
}

#[tokio::test]
async fn a_role_of_people_is_told_which_column_it_may_not_change() {
    for granted in granted().await {
        let (role, dialect) = (&granted.operator_role, granted.owner.dialect());
        let program = Program::new(&granted.operator, &settings(&granted));
        let checked = program.run(&["check"]).await.done();
        let line = checked.lines().find(|line| line.starts_with("rights")).unwrap();
        assert!(line.contains("warning") && line.contains("_operator.sql"), "{checked}");
        assert!(!checked.contains("missing: GRANT") && !checked.contains("\nwork"), "{checked}");

        let table = if dialect == Dialect::Postgres { "dispatcher.outbox" } else { "outbox" };
        let revoke =
            format!("REVOKE UPDATE (payload, headers) ON {table} FROM {role}; REVOKE DELETE ON {table} FROM {role};");
        granted.owner.run_client(&revoke);
        let checked = program.run(&["check"]).await;
        let missing: Vec<_> = checked.stdout.lines().filter(|line| line.contains("missing: GRANT")).collect();
        assert!(checked.code == Some(1) && missing.len() == 1, "{checked:?}");
        assert!(missing[0].contains("GRANT DELETE, UPDATE (headers, payload) ON "), "{checked:?}");
        give_what_is_missing(&granted, &program).await;
    }
}

#[tokio::test]
async fn whoever_looks_with_the_rights_of_an_application_is_told_which_file_gives_those_of_an_operator() {
    for granted in granted().await {
        let program = Program::new(&granted.application, &settings(&granted));
        let looked = program.run(&["status"]).await;
        assert_eq!(looked.code, Some(1), "{looked:?}");
        assert!(looked.stderr.contains("denied") && looked.stderr.contains("_operator.sql"), "{looked:?}");
        let checked = program.run(&["check"]).await;
        assert!(checked.code == Some(0) && !checked.stdout.contains("FAILED"), "{checked:?}");
        assert!(
            checked.stdout.contains("the role of an application") && !checked.stdout.contains("GRANT"),
            "{checked:?}"
        );

        // It is no application's either.
        let table = if granted.owner.dialect() == Dialect::Postgres { "dispatcher.outbox" } else { "outbox" };
        granted.owner.run_client(&format!("REVOKE INSERT (payload) ON {table} FROM {};", granted.application_role));
        let checked = program.run(&["check"]).await;
        assert!(checked.stdout.contains("Is it the role of the replicas?"), "{}", checked.stdout);
        let statements = checked.stdout.matches("missing: GRANT").count();
        assert!(statements < 20, "{statements} statements for as many tables: {}", checked.stdout);
    }
}

#[tokio::test]
async fn a_right_that_no_delivery_needs_is_warned_of_at_the_start() {
    for granted in granted().await {
        let table =
            if granted.owner.dialect() == Dialect::Postgres { "dispatcher.outbox_audit" } else { "outbox_audit" };
        granted.owner.run_client(&format!("REVOKE INSERT ON {table} FROM {};", granted.dispatcher_role));
        let program = Program::new(&granted.dispatcher, &settings(&granted));
        let log = program.deliver().await;
        let warned = log.lines().find(|line| line.contains("run.right_missing")).unwrap_or_else(|| panic!("{log}"));
        assert!(warned.contains("GRANT INSERT ON ") && warned.contains("outbox_audit"), "{warned}");
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
