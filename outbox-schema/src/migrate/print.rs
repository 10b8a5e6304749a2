//! The migrations as scripts: run by us, or printed for those who have a migration tool of their own.

use super::{DEFAULT_ENVIRONMENT, MIGRATIONS, Migration};
use crate::database::Dialect;

/// All migrations as one script for `psql`, `mariadb`/`mysql` or `sqlite3`, from an empty database to this version.
/// `schema` is PostgreSQL's and is made if it is missing.
///
/// `environment` must be one that [`Database::migrate`](crate::Database::migrate) takes: plain characters only.
pub fn migrations_sql(dialect: Dialect, schema: Option<&str>, environment: &str) -> String {
    let scripts = MIGRATIONS.iter().map(|migration| script(migration, dialect, environment));
    let scripts = scripts.collect::<Vec<_>>().join("\n");
    match dialect {
        Dialect::Postgres => {
            let path = schema.map(|schema| {
                let schema = format!("\"{}\"", schema.replace('"', "\"\""));
                format!("CREATE SCHEMA IF NOT EXISTS {schema};\nSET LOCAL search_path = {schema};\n")
            });
            format!("BEGIN;\n{}{scripts}\nCOMMIT;\n", path.unwrap_or_default())
        }
        Dialect::MySql => scripts,
        Dialect::Sqlite => format!("BEGIN IMMEDIATE;\n{scripts}\nCOMMIT;\n"),
    }
}

/// The file as it is, but for the environment that it writes into `outbox_meta`.
pub(super) fn script(migration: &Migration, dialect: Dialect, environment: &str) -> String {
    let script = match dialect {
        Dialect::Postgres => migration.script.postgres,
        Dialect::MySql => migration.script.mysql,
        Dialect::Sqlite => migration.script.sqlite,
    };
    script.replace(&literal(DEFAULT_ENVIRONMENT), &literal(environment))
}

/// The script as a server takes it. `DELIMITER` is a word of MySQL's clients: they need to be told where a procedure ends, the
/// server knows.
pub(super) fn for_the_server(script: &str) -> String {
    let lines = script.lines().filter(|line| !line.starts_with("DELIMITER "));
    lines.map(|line| line.strip_suffix("//").map_or_else(|| format!("{line}\n"), |end| format!("{end};\n"))).collect()
}

fn literal(environment: &str) -> String {
    format!("'{environment}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_named_in_one_place_of_the_first_migration() {
        for dialect in [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite] {
            let printed = migrations_sql(dialect, None, "staging");
            assert_eq!(printed.matches("'staging'").count(), 1, "{dialect:?}");
            assert!(!printed.contains("'default'"), "{dialect:?}");
        }
    }

    #[test]
    fn the_schema_is_quoted() {
        let printed = migrations_sql(Dialect::Postgres, Some("odd\"name"), "default");
        assert!(printed.contains("CREATE SCHEMA IF NOT EXISTS \"odd\"\"name\";"));
    }
}
