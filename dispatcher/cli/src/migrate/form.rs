//! The migrations in the form of a tool that the application has already. What a form says is in its file in `forms/`.

use std::collections::BTreeSet;
use std::time::SystemTime;

use clap::ValueEnum;
use outbox_store::Dialect;
use outbox_store::migrate::{FUNCTIONS_VERSION, SCHEMA_VERSION, migration_statements};

/// A migration tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Tool {
    Flyway,
    Liquibase,
    Alembic,
    Django,
    Rails,
    Prisma,
    Drizzle,
    Knex,
    Laravel,
    GolangMigrate,
}

/// How a tool takes its migrations.
struct Form {
    /// Below the folder of its migrations; none where only the tool can name it.
    file: Option<&'static str>,
    template: &'static str,
    /// How it takes the statements: in a script, or as texts of its language, which it sends one at a time.
    statements: fn(&[String], Dialect) -> String,
}

impl Tool {
    fn form(self) -> Form {
        match self {
            Self::Flyway => Form {
                file: Some("V{{time}}__outbox_{{to}}.sql"),
                template: include_str!("forms/flyway.sql"),
                statements: |statements, dialect| joined(statements, "\n\n", |statement| delimited(statement, dialect)),
            },
            Self::Liquibase => Form {
                file: Some("outbox_{{to}}.yaml"),
                template: include_str!("forms/liquibase.yaml"),
                statements: |statements, _| joined(statements, "\n", in_yaml),
            },
            Self::Alembic => Form {
                file: Some("outbox_{{to}}.py"),
                template: include_str!("forms/alembic.py"),
                statements: |statements, _| joined(statements, "\n", in_python),
            },
            Self::Django => Form {
                file: Some("outbox_{{to}}.py"),
                template: include_str!("forms/django.py"),
                statements: |statements, _| joined(statements, "\n", in_python),
            },
            Self::Rails => Form {
                file: Some("{{time}}_outbox{{to}}.rb"),
                template: include_str!("forms/rails.rb"),
                statements: |statements, _| {
                    joined(statements, "\n\n", |text| format!("    execute <<'OUTBOX_SQL'\n{text}\nOUTBOX_SQL"))
                },
            },
            Self::Prisma => Form {
                file: Some("{{time}}_outbox_{{to}}/migration.sql"),
                template: include_str!("forms/prisma.sql"),
                statements: |statements, _| joined(statements, "\n\n", ended),
            },
            Self::Drizzle => Form {
                file: None,
                template: include_str!("forms/drizzle.sql"),
                statements: |statements, _| joined(statements, "\n--> statement-breakpoint\n", ended),
            },
            Self::Knex => Form {
                file: Some("{{time}}_outbox_{{to}}.cjs"),
                template: include_str!("forms/knex.cjs"),
                statements: |statements, dialect| joined(statements, "\n", |text| in_knex(text, dialect)),
            },
            Self::Laravel => Form {
                file: Some("{{laravel_time}}_outbox_{{to}}.php"),
                template: include_str!("forms/laravel.php"),
                statements: |statements, _| {
                    joined(statements, "\n", |text| format!("        <<<'OUTBOX_SQL'\n{text}\nOUTBOX_SQL,"))
                },
            },
            Self::GolangMigrate => Form {
                file: Some("{{time}}_outbox_{{to}}.up.sql"),
                template: include_str!("forms/golang-migrate.sql"),
                statements: |statements, _| joined(statements, "\n\n", ended),
            },
        }
    }
}

/// What an application is to apply by its tool.
pub(super) struct Migration<'a> {
    pub dialect: Dialect,
    pub schema: Option<&'a str>,
    pub environment: &'a str,
    /// The version that is there; 0 is none.
    pub from: i32,
    /// The migration before, for tools that want it named.
    pub after: Option<&'a str>,
    /// Names the file, for tools that go by it.
    pub time: SystemTime,
}

impl Migration<'_> {
    /// The path of the file below the folder of the tool's migrations.
    pub(super) fn file(&self, tool: Tool) -> Result<String, &'static str> {
        let file = tool.form().file.ok_or(
            "drizzle-kit names its files itself, so --out does not go with it: \
             `npx drizzle-kit generate --custom --name outbox` makes the file that this is printed into",
        )?;
        Ok(self.filled(file, ""))
    }

    /// The text of the file.
    pub(super) fn text(&self, tool: Tool) -> Result<String, &'static str> {
        let after = self.after(tool)?;
        let form = tool.form();
        let statements = migration_statements(self.dialect, self.schema, self.environment, self.from);
        // The statements come last: what is in them is not filled in.
        let text = self.filled(form.template, &after).replace("{{tables}}", &self.tables());
        Ok(text.replace("{{statements}}", &(form.statements)(&statements, self.dialect)))
    }

    fn filled(&self, template: &str, after: &str) -> String {
        let time = humantime::format_rfc3339_seconds(self.time).to_string();
        let digits: String = time.chars().filter(char::is_ascii_digit).collect();
        let (date, hour) = time.trim_end_matches('Z').split_once('T').unwrap_or_default();
        template
            .replace("from schema version {{from}} to {{to}}", &self.versions())
            .replace("{{to}}", &self.to())
            .replace("{{time}}", &digits)
            .replace("{{laravel_time}}", &format!("{}_{}", date.replace('-', "_"), hour.replace(':', "")))
            .replace("{{after}}", after)
    }

    /// The versions that the migration leads between. Without tables there is none before.
    fn versions(&self) -> String {
        match self.from {
            0 => format!("schema version {}", self.to()),
            from => format!("from schema version {from} to {}", self.to()),
        }
    }

    /// Functions alone have a version of their own.
    fn to(&self) -> String {
        if self.from < SCHEMA_VERSION {
            SCHEMA_VERSION.to_string()
        } else {
            format!("{SCHEMA_VERSION}f{FUNCTIONS_VERSION}")
        }
    }

    fn after(&self, tool: Tool) -> Result<String, &'static str> {
        let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match (tool, self.after) {
            (Tool::Alembic, None) => Ok("None".to_owned()),
            (Tool::Alembic, Some(revision)) if is_name(revision) => Ok(format!("\"{revision}\"")),
            (Tool::Alembic, Some(_)) => Err("--after: a revision of Alembic is letters and digits"),
            (Tool::Django, Some(migration)) => match migration.split_once('.') {
                Some((app, name)) if is_name(app) && is_name(name) => Ok(format!("(\"{app}\", \"{name}\")")),
                _ => Err("--after: name Django's migration as APP.MIGRATION, for example orders.0007_refunds"),
            },
            (_, None) => Ok(String::new()),
            (_, Some(_)) => Err("--after is for alembic and django: the other tools go by the names of files"),
        }
    }

    /// All tables of this version, as Prisma names them.
    fn tables(&self) -> String {
        let statements = migration_statements(self.dialect, None, self.environment, 0);
        let lines = statements.iter().flat_map(|statement| statement.lines());
        let names: BTreeSet<_> = lines
            .filter_map(|line| line.strip_prefix("CREATE TABLE "))
            .filter_map(|rest| rest.trim_start_matches("IF NOT EXISTS ").split(' ').next())
            .collect();
        let schema = (self.dialect == Dialect::Postgres).then(|| format!("{}.", self.schema.unwrap_or("public")));
        let names = names.iter().map(|name| format!("\"{}{name}\"", schema.as_deref().unwrap_or_default()));
        names.collect::<Vec<_>>().join(", ")
    }
}

fn joined(statements: &[String], between: &str, each: impl Fn(&str) -> String) -> String {
    statements.iter().map(|statement| each(statement)).collect::<Vec<_>>().join(between)
}

fn ended(statement: &str) -> String {
    format!("{statement};")
}

/// Flyway reads a script as MySQL's client does.
fn delimited(statement: &str, dialect: Dialect) -> String {
    if dialect == Dialect::MySql && statement.contains("\nBEGIN\n") {
        format!("DELIMITER //\n{statement}//\nDELIMITER ;")
    } else {
        ended(statement)
    }
}

fn in_python(statement: &str) -> String {
    format!("r\"\"\"\n{statement}\n\"\"\",")
}

fn in_yaml(statement: &str) -> String {
    const ITEM: &str = "        - sql:
            splitStatements: false
            stripComments: false
            sql: |
";
    let lines = statement.lines().map(|line| format!("              {line}\n"));
    format!("{ITEM}{}", lines.collect::<String>())
}

/// Knex makes parameters of PostgreSQL out of question marks.
fn in_knex(statement: &str, dialect: Dialect) -> String {
    let statement = if dialect == Dialect::Postgres { statement.replace('?', "\\?") } else { statement.to_owned() };
    format!("`\n{}\n`,", statement.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite];

    fn migration(dialect: Dialect) -> Migration<'static> {
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        Migration { dialect, schema: None, environment: "staging", from: 0, after: None, time }
    }

    fn text(tool: Tool, dialect: Dialect) -> String {
        migration(dialect).text(tool).unwrap()
    }

    #[test]
    fn each_form_has_all_statements_and_nothing_left_to_fill_in() {
        for tool in Tool::value_variants() {
            for dialect in DIALECTS {
                let text = text(*tool, dialect);
                assert!(!text.contains("{{"), "{tool:?} {dialect:?}");
                assert!(
                    text.contains(&format!("The outbox, schema version {SCHEMA_VERSION}, for ")),
                    "{tool:?} {dialect:?}"
                );
                assert!(text.contains("'staging'"), "{tool:?} {dialect:?}");
                let statements = migration_statements(dialect, None, "staging", 0);
                for line in statements
                    .iter()
                    .flat_map(|statement| statement.lines())
                    .filter(|line| !line.contains(['`', '\\', '?']))
                {
                    assert!(text.contains(line), "{tool:?} {dialect:?}: {line}");
                }
            }
        }
    }

    #[test]
    fn no_statement_ends_the_text_that_it_is_in() {
        for statement in DIALECTS.iter().flat_map(|dialect| migration_statements(*dialect, None, "default", 0)) {
            for end in ["\"\"\"", "OUTBOX_SQL", "--> statement-breakpoint", "//\n"] {
                assert!(!statement.contains(end), "{end} in {statement}");
            }
            assert!(
                !statement.starts_with(' '),
                "the first line of a text of YAML says how far it is indented: {statement}"
            );
        }
    }

    #[test]
    fn only_clients_of_mysql_know_delimiters() {
        for tool in Tool::value_variants() {
            let has_delimiters = text(*tool, Dialect::MySql).contains("\nDELIMITER //\n");
            assert_eq!(has_delimiters, *tool == Tool::Flyway, "{tool:?}");
        }
    }

    #[test]
    fn knex_takes_text_of_javascript() {
        assert_eq!(in_knex("'`$${?\\'", Dialect::Postgres), "`\n'\\`$\\${\\\\?\\\\'\n`,");
        assert_eq!(in_knex("?", Dialect::MySql), "`\n?\n`,");
    }

    #[test]
    fn files_are_named_as_each_tool_expects() {
        let files =
            Tool::value_variants().iter().map(|tool| migration(Dialect::Postgres).file(*tool).unwrap_or_default());
        assert_eq!(
            files.collect::<Vec<_>>(),
            [
                "V20231114221320__outbox_N.sql",
                "outbox_N.yaml",
                "outbox_N.py",
                "outbox_N.py",
                "20231114221320_outboxN.rb",
                "20231114221320_outbox_N/migration.sql",
                "",
                "20231114221320_outbox_N.cjs",
                "2023_11_14_221320_outbox_N.php",
                "20231114221320_outbox_N.up.sql",
            ]
            .map(|name| name.replace('N', &SCHEMA_VERSION.to_string()))
        );
    }

    #[test]
    fn functions_alone_are_a_migration_with_a_version_of_its_own() {
        let now = Migration { from: SCHEMA_VERSION, ..migration(Dialect::Postgres) };
        assert_eq!(now.file(Tool::Alembic).unwrap(), format!("outbox_{SCHEMA_VERSION}f{FUNCTIONS_VERSION}.py"));
        assert!(now.text(Tool::Alembic).unwrap().contains("FUNCTION outbox_claim_rows("));
    }

    #[test]
    fn the_migration_before_is_named_where_the_tool_wants_it() {
        let after = |tool, after| Migration { after: Some(after), ..migration(Dialect::Postgres) }.text(tool);
        assert!(text(Tool::Alembic, Dialect::Postgres).contains("\ndown_revision = None\n"));
        assert!(after(Tool::Alembic, "4b2a").unwrap().contains("\ndown_revision = \"4b2a\"\n"));
        assert!(after(Tool::Django, "orders.0007_x").unwrap().contains("dependencies = [(\"orders\", \"0007_x\")]"));
        assert!(after(Tool::Django, "0007_x").is_err());
        assert!(after(Tool::Alembic, "\"").is_err());
        assert!(after(Tool::Flyway, "1").is_err());
    }

    #[test]
    fn prisma_is_told_each_table() {
        let tables = migration(Dialect::MySql).tables();
        assert!(
            tables.starts_with(
                "\"outbox\", \"outbox_alert\", \"outbox_attempt\", \"outbox_audit\", \"outbox_cancelling\""
            ),
            "{tables}"
        );
        let schema = Migration { schema: Some("messages"), ..migration(Dialect::Postgres) };
        assert!(schema.tables().starts_with("\"messages.outbox\", "));
    }
}
