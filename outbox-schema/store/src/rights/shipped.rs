//! The rights of a role, read from the files that grant them (`grants/*.sql`).

use std::collections::{BTreeMap, BTreeSet};

use crate::Dialect;

const POSTGRES: &str = include_str!("../../../grants/postgres.sql");
const POSTGRES_OPERATOR: &str = include_str!("../../../grants/postgres_operator.sql");
const MYSQL: &str = include_str!("../../../grants/mysql.sql");
const MYSQL_OPERATOR: &str = include_str!("../../../grants/mysql_operator.sql");

/// For whom a file grants rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The role of the replicas.
    Dispatcher,
    /// The role of people who look at an outbox and mend it by hand.
    Operator,
    /// The role of an application, which writes messages.
    Application,
}

/// A right to something of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Right {
    /// What it is a right to do: `SELECT`, `EXECUTE`.
    pub(super) privilege: String,
    /// Of which kind `object` is. PostgreSQL grants rights to more than tables.
    pub(super) kind: Kind,
    /// The name of a table or a function. Of the schema itself it is empty.
    pub(super) object: String,
    /// The column of the table. Empty where the right is to all of it.
    pub(super) column: String,
}

/// What a right is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Table,
    Function,
    Schema,
}

impl Kind {
    /// The word in a query.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Function => "function",
            Self::Schema => "schema",
        }
    }
}

/// The statements that give rights, where the tables are in `place`: one for each table, and one for all functions.
pub(super) fn grants<'a>(rights: impl IntoIterator<Item = &'a Right>, place: &str, role: &str) -> Vec<String> {
    let mut grouped = BTreeMap::<_, (BTreeMap<&str, BTreeSet<&str>>, BTreeSet<&str>)>::new();
    for Right { privilege, kind, object, column } in rights {
        let one = if *kind == Kind::Table { object } else { "" };
        let (privileges, objects) = grouped.entry((*kind, one)).or_default();
        privileges.entry(privilege).or_default().extend(Some(column.as_str()).filter(|column| !column.is_empty()));
        objects.insert(object);
    }
    let mut statements = Vec::new();
    for ((kind, _), (privileges, objects)) in grouped {
        let privileges = privileges.into_iter().map(|(privilege, columns)| match columns.len() {
            0 => privilege.to_owned(),
            _ => format!("{privilege} ({})", columns.into_iter().collect::<Vec<_>>().join(", ")),
        });
        let privileges = privileges.collect::<Vec<_>>().join(", ");
        let objects: Vec<_> = objects.into_iter().map(|object| format!("{place}.{object}")).collect();
        let objects = objects.join(", ");
        statements.push(match kind {
            Kind::Table => format!("GRANT {privileges} ON {objects} TO {role};"),
            Kind::Function => format!("GRANT {privileges} ON FUNCTION {objects} TO {role};"),
            Kind::Schema => format!("GRANT {privileges} ON SCHEMA {place} TO {role};"),
        });
    }
    statements
}

/// What a role is granted.
pub(super) fn of(role: Role, dialect: Dialect) -> BTreeSet<Right> {
    match (dialect, role) {
        (Dialect::Postgres, Role::Dispatcher) => granted(POSTGRES, ":\"dispatcher\""),
        (Dialect::Postgres, Role::Operator) => granted(POSTGRES_OPERATOR, ":\"operator\""),
        (Dialect::MySql, Role::Dispatcher) => granted(MYSQL, "DISPATCHER"),
        (Dialect::MySql, Role::Operator) => granted(MYSQL_OPERATOR, "OPERATOR"),
        (Dialect::Postgres, Role::Application) => granted(POSTGRES, ":\"application\""),
        (Dialect::MySql, Role::Application) => granted(MYSQL, "APPLICATION"),
        (Dialect::Sqlite, _) => BTreeSet::new(),
    }
}

/// The privileges of a grant, each with the columns in its parentheses, or with one empty name.
fn privileges(grant: &str) -> Vec<(&str, Vec<&str>)> {
    let mut privileges = Vec::new();
    let mut rest = grant.trim();
    while !rest.is_empty() {
        let (privilege, columns, after) = match (rest.find(','), rest.find('(')) {
            (comma, Some(open)) if comma.is_none_or(|comma| open < comma) => {
                let (columns, after) = rest[open + 1..].split_once(')').unwrap_or((&rest[open + 1..], ""));
                (&rest[..open], columns.split(',').map(str::trim).collect(), after)
            }
            (Some(comma), _) => (&rest[..comma], vec![""], &rest[comma..]),
            (None, _) => (rest, vec![""], ""),
        };
        privileges.push((privilege.trim(), columns));
        rest = after.trim_start_matches([',', ' ']);
    }
    privileges
}

/// What a script grants to a role, in the forms that our files have.
fn granted(script: &str, role: &str) -> BTreeSet<Right> {
    // Comments, and psql's own commands.
    let is_sql = |line: &&str| !line.starts_with("--") && !line.starts_with('\\');
    let sql = script.lines().filter(is_sql).collect::<Vec<_>>().join(" ");
    let mut rights = BTreeSet::new();
    for statement in sql.split(';').map(str::trim) {
        let Some(grant) = statement.strip_prefix("GRANT ") else { continue };
        let Some((grant, to)) = grant.rsplit_once(" TO ") else { continue };
        let Some((given, objects)) = grant.split_once(" ON ") else { continue };
        if to.trim() != role {
            continue;
        }
        let objects = objects.trim();
        let (kind, objects) = if let Some(functions) = objects.strip_prefix("FUNCTION ") {
            (Kind::Function, functions)
        } else if objects.starts_with("SCHEMA ") {
            (Kind::Schema, "")
        } else {
            (Kind::Table, objects)
        };
        for object in objects.split(',') {
            let object = object.trim().trim_start_matches(":\"schema\".").to_owned();
            for (privilege, columns) in privileges(given) {
                rights.extend(columns.into_iter().map(|column| Right {
                    privilege: privilege.to_owned(),
                    kind,
                    object: object.clone(),
                    column: column.to_owned(),
                }));
            }
        }
    }
    rights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(dialect: Dialect) -> Vec<String> {
        of(Role::Dispatcher, dialect).iter().flat_map(|right| grants([right], "shop", "runs")).collect()
    }

    #[test]
    fn what_is_missing_is_given_by_a_statement_for_each_table_and_one_for_all_functions() {
        let right = |privilege: &str, kind, object: &str| {
            let [privilege, object] = [privilege, object].map(str::to_owned);
            Right { privilege, kind, object, column: String::new() }
        };
        let column = |column: &str| Right { column: column.to_owned(), ..right("UPDATE", Kind::Table, "outbox_term") };
        let missing = [
            right("EXECUTE", Kind::Function, "outbox_mark()"),
            right("UPDATE", Kind::Table, "outbox"),
            right("USAGE", Kind::Schema, ""),
            right("INSERT", Kind::Table, "outbox"),
            right("EXECUTE", Kind::Function, "outbox_claim"),
            right("INSERT", Kind::Table, "outbox_claim"),
            right("SELECT", Kind::Table, "outbox_term"),
            column("started_at"),
            column("epoch"),
        ];
        let statements = [
            "GRANT INSERT, UPDATE ON shop.outbox TO runs;",
            "GRANT INSERT ON shop.outbox_claim TO runs;",
            "GRANT SELECT, UPDATE (epoch, started_at) ON shop.outbox_term TO runs;",
            "GRANT EXECUTE ON FUNCTION shop.outbox_claim, shop.outbox_mark() TO runs;",
            "GRANT USAGE ON SCHEMA shop TO runs;",
        ];
        assert_eq!(grants(&missing, "shop", "runs"), statements);
        assert_eq!(grants([], "shop", "runs"), Vec::<String>::new());
    }

    #[test]
    fn each_right_of_the_shipped_files_is_read() {
        for dialect in [Dialect::Postgres, Dialect::MySql] {
            let words = words(dialect);
            for right in [
                "GRANT UPDATE ON shop.outbox TO runs;",
                "GRANT INSERT ON shop.outbox_audit TO runs;",
                "GRANT SELECT ON shop.outbox_meta TO runs;",
                "GRANT DELETE ON shop.outbox_lease TO runs;",
            ] {
                assert!(words.iter().any(|word| word == right), "{right} is not in {words:?}");
            }
            assert!(words.iter().all(|word| !word.contains(['"', ':', '(', '\\'])), "{words:?}");
            assert!(!words.iter().any(|word| word.contains("UPDATE ON shop.outbox_audit")), "{words:?}");
        }
        assert!(words(Dialect::Postgres).contains(&"GRANT EXECUTE ON FUNCTION shop.outbox_mark TO runs;".to_owned()));
        assert!(words(Dialect::Postgres).contains(&"GRANT USAGE ON SCHEMA shop TO runs;".to_owned()));
        assert_eq!(words(Dialect::Sqlite), Vec::<String>::new());
    }

    #[test]
    fn rights_to_columns_of_the_shipped_files_are_read_column_by_column() {
        for dialect in [Dialect::Postgres, Dialect::MySql] {
            let rights = of(Role::Operator, dialect);
            let update = |right: &&Right| right.privilege == "UPDATE" && right.object == "outbox";
            let found: Vec<_> = rights.iter().filter(update).map(|right| right.column.as_str()).collect();
            for first_and_last in ["idempotency_key", "headers", "finished_at"] {
                assert!(found.contains(&first_and_last), "{first_and_last} is not in {found:?}");
            }
            assert!(!found.contains(&"") && !found.contains(&"channel"), "{found:?}");
            let written = of(Role::Application, dialect);
            assert!(
                written.iter().any(|right| (right.object.as_str(), right.column.as_str()) == ("outbox", "payload"))
            );
            assert!(!written.iter().any(|right| right.privilege == "INSERT" && right.column == "id"), "{written:?}");
            let whole = |right: &&Right| right.object == "outbox_destination" && right.column.is_empty();
            let whole: Vec<_> = rights.iter().filter(whole).map(|right| right.privilege.as_str()).collect();
            assert_eq!(whole, ["INSERT", "SELECT"]);
        }
    }

    /// A form that is not read would be a right that nobody misses.
    #[test]
    fn no_grant_to_the_dispatcher_is_passed_over() {
        for (script, role, dialect) in
            [(POSTGRES, ":\"dispatcher\"", Dialect::Postgres), (MYSQL, "DISPATCHER", Dialect::MySql)]
        {
            let statements =
                script.split(';').filter(|statement| statement.trim_end().ends_with(&format!("TO {role}")));
            let objects: usize = statements
                .map(|statement| {
                    let sql: Vec<_> = statement.lines().filter(|line| !line.starts_with("--")).collect();
                    let sql = sql.join(" ");
                    let (privileges, objects) = sql.split_once(" ON ").expect("a grant");
                    privileges.split(',').count() * objects.split(',').count()
                })
                .sum();
            assert_eq!(of(Role::Dispatcher, dialect).len(), objects, "{dialect:?}");
        }
    }
}
