//! Making the tables, on each database.

use outbox_schema::NewMessage;
use outbox_store::{Dialect, MigrateError, SCHEMA_VERSION, SERVES_FROM, SchemaError, SchemaState, migrations_sql};
use outbox_tests::eventually;
use rustix::process::Signal;

use crate::outboxes::{self, Outbox, Step, connect, transaction};
use crate::poller::Poller;
use crate::program::{HTTP, PATIENCE, Program};

#[tokio::test]
async fn eight_replicas_that_migrate_at_once_make_the_tables_once() {
    for outbox in outboxes::each_empty().await {
        let replicas = (0..8).map(|_| {
            let url = outbox.test.url.clone();
            tokio::spawn(async move { connect(&url, None).await.migrate("production").await.unwrap() })
        });
        let mut migrated = Vec::new();
        for replica in replicas.collect::<Vec<_>>() {
            migrated.push(replica.await.unwrap());
        }
        assert_eq!(migrated.iter().filter(|migrated| migrated.from.is_none()).count(), 1);
        assert!(migrated.iter().all(|one| one.meta == migrated[0].meta));
        let meta = outbox.database.require("production").await.unwrap();
        assert_eq!(meta, migrated[0].meta);
        assert_eq!((meta.schema_version, meta.environment.as_str()), (SCHEMA_VERSION, "production"));
    }
}

#[tokio::test]
async fn migrating_again_changes_nothing() {
    for outbox in outboxes::each_empty().await {
        let first = outbox.database.migrate("default").await.unwrap();
        let again = outbox.database.migrate("default").await.unwrap();
        assert_eq!((first.from, again.from), (None, Some(SCHEMA_VERSION)));
        assert_eq!(first.meta, again.meta);
    }
}

#[tokio::test]
async fn a_database_without_tables_sends_its_user_to_migrate() {
    for outbox in outboxes::each_empty().await {
        assert_eq!(outbox.database.schema_state().await.unwrap(), SchemaState::Absent { remains: false });
        let told = outbox.database.require("default").await.unwrap_err();
        assert!(matches!(told, SchemaError::Absent { .. }));
        assert!(told.to_string().contains("outbox migrate"));
    }
}

#[tokio::test]
async fn a_table_of_somebody_else_is_refused_and_left_as_it_is() {
    for outbox in outboxes::each_empty().await {
        outbox.sql("CREATE TABLE outbox (id integer PRIMARY KEY, theirs integer)").await;
        outbox.sql("INSERT INTO outbox VALUES (1, 2)").await;
        let told = outbox.database.migrate("default").await.unwrap_err();
        assert!(matches!(told, MigrateError::Schema(SchemaError::Foreign { .. })), "{told}");
        let other_place = match outbox.dialect() {
            Dialect::Postgres => "a schema of its own (database.schema",
            Dialect::MySql => "another database",
            Dialect::Sqlite => "another file",
        };
        assert!(told.to_string().ends_with(other_place) || told.to_string().contains("(database.schema"), "{told}");
        assert!(matches!(outbox.database.require("default").await, Err(SchemaError::Foreign { .. })));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE theirs = 2").await, 1);
        assert_eq!(outbox.database.schema_state().await.unwrap(), SchemaState::Foreign);
    }
}

#[tokio::test]
async fn beside_a_table_of_somebody_else_ours_lie_in_a_schema_that_is_made() {
    let [outbox, _, _] = outboxes::empty().await;
    outbox.sql("CREATE TABLE outbox (id integer PRIMARY KEY)").await;
    for schema in ["dispatcher", "Order"] {
        let ours = connect(&outbox.test.url, Some(schema)).await;
        ours.migrate("default").await.unwrap();
        ours.require("default").await.unwrap();
        let tables = format!("SELECT count(*) FROM \"{schema}\".outbox_meta");
        assert_eq!(outbox.number(&tables).await, 1);
    }
    assert_eq!(outbox.database.schema_state().await.unwrap(), SchemaState::Foreign);
}

#[tokio::test]
async fn a_postgres_database_that_takes_any_bytes_for_a_text_is_refused() {
    let [outbox, _, _] = outboxes::empty().await;
    let name = format!("{}_bytes", outbox.test.name);
    outbox.sql(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")).await;
    let bytes = connect(&format!("{}_bytes", outbox.test.url), None).await;
    let told = bytes.migrate("default").await.unwrap_err();
    assert!(matches!(&told, MigrateError::Schema(SchemaError::Encoding { found }) if found == "SQL_ASCII"), "{told}");
    assert!(told.to_string().contains("ENCODING 'UTF8'"), "{told}");
    assert!(matches!(bytes.require("default").await, Err(SchemaError::Encoding { .. })));
}

#[tokio::test]
async fn a_newer_schema_is_refused_by_an_older_program() {
    for outbox in outboxes::each().await {
        outbox.sql("UPDATE outbox_meta SET schema_version = 999, serves_from = 999").await;
        let told = outbox.database.require("default").await.unwrap_err();
        assert!(matches!(told, SchemaError::Newer { found: 999 }), "{told}");
        let told = outbox.database.migrate("default").await.unwrap_err();
        assert!(matches!(told, MigrateError::Schema(SchemaError::Newer { found: 999 })), "{told}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_meta WHERE schema_version = 999").await, 1);
    }
}

/// Between the first and the last step of a rolling upgrade.
#[tokio::test]
async fn a_newer_schema_that_serves_this_program_is_used_and_not_migrated() {
    for outbox in outboxes::each().await {
        assert_eq!(
            outbox.number(&format!("SELECT count(*) FROM outbox_meta WHERE serves_from = {SERVES_FROM}")).await,
            1
        );
        let newer = SCHEMA_VERSION + 1;
        outbox.sql(&format!("UPDATE outbox_meta SET schema_version = {newer}, serves_from = {SCHEMA_VERSION}")).await;
        assert_eq!(outbox.database.require("default").await.unwrap().newer(), Some(newer));
        let told = outbox.database.migrate("default").await.unwrap_err();
        assert!(matches!(told, MigrateError::Schema(SchemaError::Newer { .. })), "{told}");
    }
}

#[tokio::test]
async fn functions_of_an_older_program_are_named_and_replaced_and_those_of_a_newer_one_stay() {
    for outbox in outboxes::each().await {
        let replaced = outbox.dialect() == Dialect::Postgres;
        outbox.sql("UPDATE outbox_meta SET functions_version = 0").await;
        let refused = outbox.database.require("default").await;
        assert_eq!(matches!(refused, Err(SchemaError::OlderFunctions { found: 0 })), replaced, "{refused:?}");
        let migrated = outbox.database.migrate("default").await.unwrap();
        assert_eq!((migrated.from, migrated.functions), (Some(SCHEMA_VERSION), replaced));
        outbox.database.require("default").await.unwrap();
        if replaced {
            outbox.sql("UPDATE outbox_meta SET functions_version = 999").await;
            assert!(!outbox.database.migrate("default").await.unwrap().functions);
            outbox.database.require("default").await.unwrap();
        }
    }
}

#[tokio::test]
async fn replicas_that_are_too_old_for_the_new_tables_are_named() {
    for outbox in outboxes::each().await {
        let program = Program::new(&outbox.test.url, "");
        let too_old = SERVES_FROM - 1;
        let rows = [("old", too_old), ("gone", too_old), ("silent", too_old), ("present", SCHEMA_VERSION)];
        for (id, of_version) in rows {
            outbox.beat(id, &format!("host-{id}")).await;
            outbox.sql(&format!("UPDATE outbox_replica SET schema_version = {of_version} WHERE id = '{id}'")).await;
        }
        outbox_desk::replica_ended(&outbox.database, "gone").await.unwrap();
        let long_ago = match outbox.dialect() {
            Dialect::Postgres => "now() - interval '2 minutes'",
            Dialect::MySql => "UTC_TIMESTAMP(6) - INTERVAL 2 MINUTE",
            Dialect::Sqlite => "seen_at - 120000",
        };
        outbox.sql(&format!("UPDATE outbox_replica SET seen_at = {long_ago} WHERE id = 'silent'")).await;
        let ran = program.run(&["migrate"]).await;
        assert!(ran.stderr.contains("too old for tables of version"), "{ran:?}");
        assert!(ran.stderr.contains("host-old old (version 0.0.1)"), "{ran:?}");
        for other in ["host-gone", "host-silent", "host-present"] {
            assert!(!ran.stderr.contains(other), "{ran:?}");
        }
        outbox.sql(&format!("UPDATE outbox_replica SET schema_version = {SERVES_FROM} WHERE id = 'old'")).await;
        let ran = program.run(&["migrate"]).await;
        assert!(ran.stderr.contains("of an older release, and go on: host-old"), "{ran:?}");
    }
}

#[tokio::test]
async fn a_replica_has_a_row_while_it_runs_and_forgets_those_that_were_killed_long_ago() {
    for outbox in outboxes::each().await {
        outbox.beat("killed", "x").await;
        let long_ago = match outbox.dialect() {
            Dialect::Postgres => "now() - interval '25 hours'",
            Dialect::MySql => "UTC_TIMESTAMP(6) - INTERVAL 25 HOUR",
            Dialect::Sqlite => "seen_at - 90000000",
        };
        outbox.sql(&format!("UPDATE outbox_replica SET seen_at = {long_ago}")).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        let began = replica.says("term.began").await;
        let written = async || {
            let rows = outbox_desk::replicas(&outbox.database).await.unwrap();
            <[_; 1]>::try_from(rows).ok().filter(|[row]| row.id != "killed")
        };
        let [row] = eventually("the row of the replica alone", PATIENCE, written).await;
        assert!(row.runs() && began.contains(&format!("holder={}.", row.id)), "{row:?}: {began}");
        assert_eq!(row.schema_version, SCHEMA_VERSION);
        assert!(row.version.starts_with(env!("CARGO_PKG_VERSION")), "{row:?}");
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_replica").await, 0);
    }
}

#[tokio::test]
async fn an_older_schema_sends_its_user_to_migrate() {
    for outbox in outboxes::each().await {
        outbox.sql("UPDATE outbox_meta SET schema_version = 0").await;
        let told = outbox.database.require("default").await.unwrap_err();
        assert!(matches!(told, SchemaError::Older { found: 0 }), "{told}");
        assert!(told.to_string().contains("outbox migrate"));
    }
}

#[tokio::test]
async fn a_copy_is_refused_by_another_environment_until_somebody_confirms_it() {
    for outbox in outboxes::each_empty().await {
        let production = outbox.database.migrate("production").await.unwrap().meta;
        let told = outbox.database.require("staging").await.unwrap_err();
        assert!(
            matches!(&told, SchemaError::Environment { found, asked } if found == "production" && asked == "staging")
        );
        assert!(told.to_string().contains("After a restore"), "{told}");
        let told = outbox.database.migrate("staging").await.unwrap_err();
        assert!(matches!(told, MigrateError::Schema(SchemaError::Environment { .. })), "{told}");

        let staging = outbox.database.confirm_environment("staging").await.unwrap();
        assert_eq!(outbox.database.require("staging").await.unwrap(), staging);
        assert_ne!(staging.outbox_id, production.outbox_id, "it must not contend for production's lease");
        assert!(matches!(outbox.database.require("production").await, Err(SchemaError::Environment { .. })));
        assert_eq!(outbox.database.confirm_environment("staging").await.unwrap(), staging);
    }
}

#[tokio::test]
async fn an_environment_that_is_no_name_is_refused_before_it_reaches_a_script() {
    for outbox in outboxes::each_empty().await {
        for name in ["", "it's", "two words", &"x".repeat(65)] {
            let told = outbox.database.migrate(name).await.unwrap_err();
            assert!(matches!(told, MigrateError::Schema(SchemaError::EnvironmentName { .. })), "{told}");
        }
        assert_eq!(outbox.database.schema_state().await.unwrap(), SchemaState::Absent { remains: false });
    }
}

#[tokio::test]
async fn a_migration_that_broke_off_on_mariadb_is_seen_and_goes_on() {
    let [_, outbox, _] = outboxes::migrated().await;
    // As a crash before the last tables leaves it: MySQL commits each table at once.
    outbox.sql("DELETE FROM outbox_meta").await;
    outbox.sql("DROP TABLE outbox_lease, outbox_audit").await;
    let told = outbox.database.require("default").await.unwrap_err();
    assert!(matches!(told, SchemaError::Unfinished), "{told}");
    outbox.database.migrate("default").await.unwrap();
    outbox.database.require("default").await.unwrap();
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_lease").await, 0);
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_term").await, 1);
}

#[tokio::test]
async fn a_meta_table_without_its_row_is_not_taken_for_an_outbox() {
    let [postgres, _, sqlite] = outboxes::migrated().await;
    for outbox in [postgres, sqlite] {
        outbox.sql("DELETE FROM outbox_meta").await;
        let told = outbox.database.migrate("default").await.unwrap_err();
        assert!(matches!(told, MigrateError::Schema(SchemaError::Unfinished)), "{told}");
    }
}

#[tokio::test]
async fn the_printed_script_runs_in_the_databases_own_program() {
    for outbox in outboxes::each_empty().await {
        outbox.run_client(&migrations_sql(outbox.dialect(), None, "staging", 0));
        let meta = outbox.database.require("staging").await.unwrap();
        let migrated = outbox.database.migrate("staging").await.unwrap();
        assert_eq!((migrated.from, migrated.meta), (Some(SCHEMA_VERSION), meta));
        assert!(matches!(outbox.database.require("default").await, Err(SchemaError::Environment { .. })));
    }
}

#[tokio::test]
async fn the_printed_script_makes_the_schema_on_postgres() {
    let [outbox, _, _] = outboxes::empty().await;
    outbox.run_client(&migrations_sql(Dialect::Postgres, Some("dispatcher"), "default", 0));
    let ours = connect(&outbox.test.url, Some("dispatcher")).await;
    ours.require("default").await.unwrap();
    assert_eq!(outbox.database.schema_state().await.unwrap(), SchemaState::Absent { remains: false });
}

#[tokio::test]
async fn a_database_whose_search_path_names_no_schema_is_told_of_database_schema() {
    let [outbox, _, _] = outboxes::empty().await;
    outbox.sql("DROP SCHEMA public").await;
    let told = outbox.database.migrate("default").await.unwrap_err();
    assert!(matches!(told, MigrateError::NoSchema), "{told}");
}

#[tokio::test]
async fn what_a_migration_did_is_told_in_json_as_in_words() {
    for outbox in outboxes::each_empty().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let migrate = async || program.run(&["migrate", "--json"]).await.json();
        let made = migrate().await;
        assert_eq!((&made["did"], &made["from"], &made["anew"]), (&"made".into(), &().into(), &false.into()));
        assert_eq!(made["schema_version"], SCHEMA_VERSION);
        assert_eq!((&made["environment"], made["outbox_id"].as_str().map(str::len)), (&"default".into(), Some(36)));
        assert_eq!(migrate().await["did"], "nothing");
        outbox.sql("UPDATE outbox_meta SET functions_version = 0").await;
        let postgres = outbox.dialect() == Dialect::Postgres;
        assert_eq!(migrate().await["did"], if postgres { "replaced_functions" } else { "nothing" });
        let staging = Program::new(&outbox.test.url, &format!("[database]\nenvironment = \"staging\"\n{HTTP}"));
        let adopted = staging.run(&["migrate", "--adopt-environment", "--yes", "--json"]).await.json();
        assert_eq!((&adopted["did"], &adopted["environment"]), (&"adopted_environment".into(), &"staging".into()));
    }
    for outbox in outboxes::each_empty().await {
        of_version_1(&outbox).await;
        let updated = Program::new(&outbox.test.url, HTTP).run(&["migrate", "--json"]).await.json();
        assert_eq!((&updated["did"], &updated["from"]), (&"updated".into(), &1.into()));
    }
}

/// The outbox as release 0.1.0 made it.
pub(crate) async fn of_version_1(outbox: &Outbox) {
    let script = match outbox.dialect() {
        Dialect::Postgres => include_str!("../../../../outbox-schema/migrations/postgres/0001_outbox.sql"),
        Dialect::MySql => include_str!("../../../../outbox-schema/migrations/mysql/0001_outbox.sql"),
        Dialect::Sqlite => include_str!("../../../../outbox-schema/migrations/sqlite/0001_outbox.sql"),
    };
    outbox.sql(script).await;
}

#[tokio::test]
async fn rows_of_before_that_a_check_would_refuse_go_as_they_would_have_gone() {
    for outbox in outboxes::each_empty().await {
        of_version_1(&outbox).await;
        let quote = if outbox.dialect() == Dialect::MySql { r"\\" } else { r"\" };
        let twice = format!(r#""{{{quote}"a{quote}": 1}}""#);
        outbox
            .sql(&format!(
                "INSERT INTO outbox (channel, target, payload, max_attempts, status) VALUES \
                 ('http', '/a', '{twice}', NULL, 'PENDING'), ('http', '/b', '1', 0, 'PENDING'), \
                 ('http', '/c', '1', NULL, 'SUCCESS'), ('http', '/d', '1', NULL, 'PENDING')"
            ))
            .await;
        let empty = "INSERT INTO outbox (channel, target, payload, idempotency_key, ordering_key) \
                     VALUES ('http', '/e', '1', '', '')";
        outbox.sql(empty).await;
        let migrated = outbox.database.migrate("default").await.unwrap();
        assert_eq!((migrated.from, migrated.anew), (Some(1), false));
        assert_eq!(migrated.meta.schema_version, SCHEMA_VERSION);
        // As a poller puts rows aside, marks them, and retention removes them.
        for moved in ["available_at", "NULL"] {
            outbox.sql(&format!("UPDATE outbox SET deferred_from = {moved} WHERE status = 'PENDING'")).await;
        }
        let poller = Poller::begin(&outbox.database, "one").await;
        let (claim, messages) = poller.claim().await;
        assert_eq!(messages.len(), 4);
        let done = outbox_store::Verdict::Success { receipt: None };
        poller.mark_some(claim, &messages, &done, &[]).await;
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, 5);
    }
}

#[tokio::test]
async fn migrate_says_what_it_did_and_names_tables_that_somebody_dropped() {
    for outbox in outboxes::each_empty().await {
        let program = Program::new(&outbox.test.url, HTTP);
        let made = program.run(&["migrate"]).await.done();
        assert!(made.starts_with("Made the outbox tables.\n"), "{made}");
        let again = program.run(&["migrate"]).await.done();
        assert!(again.starts_with("Nothing to do.\n"), "{again}");
        if outbox.dialect() == Dialect::Sqlite {
            continue; // There nothing outlives its tables.
        }
        // As Alembic and drizzle-kit do with tables that they do not know.
        let tables = "outbox, outbox_meta, outbox_term, outbox_term_log, outbox_claim, outbox_attempt, outbox_destination, \
                      outbox_invalid_target, outbox_audit, outbox_lease, outbox_replica, outbox_minute, outbox_alert, outbox_operation, \
                      outbox_recurring, outbox_job, outbox_job_token, outbox_job_seat, outbox_job_run";
        match outbox.dialect() {
            Dialect::Postgres => outbox.sql(&format!("DROP TABLE {tables} CASCADE")).await,
            Dialect::MySql | Dialect::Sqlite => outbox.sql(&format!("DROP TABLE {tables}, outbox_cancelling")).await,
        }
        let anew = program.run(&["migrate"]).await;
        assert!(anew.stderr.contains("made anew, empty"), "{anew:?}");
        assert!(anew.done().starts_with("Made the outbox tables.\n"));
        let steps = [Step::Enqueue(&[NewMessage::http("/hook").json(&1)])];
        assert!(transaction(&outbox.test.url, &steps, "COMMIT").await[0].is_ok());
    }
}
