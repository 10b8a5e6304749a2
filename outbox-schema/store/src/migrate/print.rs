//! The migrations as scripts: run by this program, or printed for users with a migration tool of their own.

use super::split::split;
use super::{DEFAULT_ENVIRONMENT, MIGRATIONS, Migration, functions};
use crate::database::Dialect;

/// The migrations after version `from` (0 for all), and the functions of PostgreSQL, as one script for `psql`,
/// `mariadb`/`mysql` or `sqlite3`. `schema` is for PostgreSQL, and is made if it is missing.
///
/// `environment` must be one that [`Database::migrate`](crate::Database::migrate) takes: plain characters only.
pub fn migrations_sql(dialect: Dialect, schema: Option<&str>, environment: &str, from: i32) -> String {
    let scripts = scripts(dialect, environment, from).collect::<Vec<_>>().join("\n");
    match dialect {
        Dialect::Postgres => {
            let path = schema.map(|schema| {
                let schema = quoted(schema);
                format!("CREATE SCHEMA IF NOT EXISTS {schema};\nSET LOCAL search_path = {schema};\n")
            });
            format!("BEGIN;\n{}{scripts}\nCOMMIT;\n", path.unwrap_or_default())
        }
        Dialect::MySql => scripts,
        Dialect::Sqlite => format!("BEGIN IMMEDIATE;\n{scripts}\nCOMMIT;\n"),
    }
}

/// The same as single statements, each without its terminator, for tools that send one at a time. The tool begins and
/// commits their transaction, where the database has transactions for such statements.
pub fn migration_statements(dialect: Dialect, schema: Option<&str>, environment: &str, from: i32) -> Vec<String> {
    let statements = scripts(dialect, environment, from).flat_map(|script| split(&script, dialect));
    let Some(schema) = schema.filter(|_| dialect == Dialect::Postgres).map(quoted) else {
        return statements.collect();
    };
    // The tool notes in the same transaction what it has applied, in the place where its own search_path leads.
    let begin = [
        format!("CREATE SCHEMA IF NOT EXISTS {schema}"),
        "SELECT set_config('outbox.search_path', current_setting('search_path'), true)".to_owned(),
        format!("SET LOCAL search_path = {schema}"),
    ];
    let end = "SELECT set_config('search_path', current_setting('outbox.search_path'), true)".to_owned();
    begin.into_iter().chain(statements).chain([end]).collect()
}

fn scripts(dialect: Dialect, environment: &str, from: i32) -> impl Iterator<Item = String> {
    let migrations = MIGRATIONS.iter().filter(move |migration| migration.version > from);
    migrations.map(move |migration| script(migration, dialect, environment)).chain(functions::script(dialect))
}

/// The text of the file, with the environment that it writes into `outbox_meta`.
fn script(migration: &Migration, dialect: Dialect, environment: &str) -> String {
    let script = match dialect {
        Dialect::Postgres => migration.script.postgres,
        Dialect::MySql => migration.script.mysql,
        Dialect::Sqlite => migration.script.sqlite,
    };
    script.replace(&literal(DEFAULT_ENVIRONMENT), &literal(environment))
}

/// The script in the form that a server takes.
pub(super) fn for_the_server(migration: &Migration, dialect: Dialect, environment: &str) -> String {
    let statements = split(&script(migration, dialect, environment), dialect);
    let ends = statements.iter().flat_map(|statement| [statement.as_str(), ";\n"]);
    ends.collect()
}

fn quoted(schema: &str) -> String {
    format!("\"{}\"", schema.replace('"', "\"\""))
}

fn literal(environment: &str) -> String {
    format!("'{environment}'")
}

#[cfg(test)]
mod tests {
    use super::super::{SCHEMA_VERSION, SERVES_FROM};
    use super::*;

    #[test]
    fn the_environment_is_named_in_one_place_of_the_first_migration() {
        for dialect in [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite] {
            let printed = migrations_sql(dialect, None, "staging", 0);
            assert_eq!(printed.matches("'staging'").count(), 1, "{dialect:?}");
            assert!(!printed.contains("'default'"), "{dialect:?}");
        }
    }

    #[test]
    fn the_schema_is_quoted() {
        let printed = migrations_sql(Dialect::Postgres, Some("odd\"name"), "default", 0);
        assert!(printed.contains("CREATE SCHEMA IF NOT EXISTS \"odd\"\"name\";"));
    }

    #[test]
    fn statements_are_what_the_scripts_say() {
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        for dialect in [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite] {
            let script: String = scripts(dialect, "default", 0).collect::<Vec<_>>().join("\n");
            let script = script.replace("DELIMITER //", "").replace("END//", "END;").replace("DELIMITER ;", "");
            let statements = migration_statements(dialect, None, "default", 0).join(";\n") + ";";
            assert_eq!(squeezed(&statements), squeezed(&script), "{dialect:?}");
        }
    }

    #[test]
    fn who_has_a_version_gets_what_is_behind_it() {
        for dialect in [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite] {
            let statements = migration_statements(dialect, None, "default", 1);
            assert!(!statements.iter().any(|statement| statement.contains("CREATE TABLE outbox (")), "{dialect:?}");
            let version =
                format!("UPDATE outbox_meta SET schema_version = {SCHEMA_VERSION}, serves_from = {SERVES_FROM}");
            assert!(statements.contains(&version), "{dialect:?}");
            let functions = migration_statements(dialect, None, "default", SCHEMA_VERSION);
            assert_eq!(functions.is_empty(), dialect != Dialect::Postgres, "{dialect:?}");
        }
    }

    #[test]
    fn a_tool_has_its_own_search_path_back() {
        let statements = migration_statements(Dialect::Postgres, Some("outbox"), "default", 0);
        assert_eq!(statements[2], "SET LOCAL search_path = \"outbox\"");
        assert!(statements.last().is_some_and(|last| last.starts_with("SELECT set_config('search_path'")));
    }
}
