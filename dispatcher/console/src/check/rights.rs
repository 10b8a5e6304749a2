//! The rights of the role that checks: of a replica, of a person who looks at an outbox and mends it by hand, or of an application.

use outbox_store::{Database, Dialect, QueryError, Role};

use super::Finding;

/// So many statements are missing where the role is not that of the replicas.
const MOST: usize = 5;

/// Finds what the role lacks, and for whom it is.
pub(super) async fn of_role(database: &Database, findings: &mut Vec<Finding>) -> Result<Role, QueryError> {
    let dialect = database.dialect();
    let missing = database.missing_rights(Role::Dispatcher).await?;
    if missing.is_empty() {
        let has = match dialect {
            Dialect::Postgres | Dialect::MySql => "this role has all that the shipped grants give the dispatcher",
            Dialect::Sqlite => "SQLite has no roles: whoever may write the file and its folder may do all",
        };
        findings.push(Finding::ok("rights", &has));
        return Ok(Role::Dispatcher);
    }
    if missing.len() < MOST {
        findings.extend(missing.iter().map(|grant| lacks(grant)));
        return Ok(Role::Dispatcher);
    }
    let of_people = database.missing_rights(Role::Operator).await?;
    let (replicas, people) = match dialect {
        Dialect::Postgres | Dialect::Sqlite => ("postgres.sql", "postgres_operator.sql"),
        Dialect::MySql => ("mysql.sql", "mysql_operator.sql"),
    };
    if of_people.len() < MOST {
        let who = format!("a role of people who look and mend by hand (grants/{people}): no replica can run as it");
        findings.push(Finding::warning("rights", &who));
        findings.extend(of_people.iter().map(|grant| lacks(grant)));
        return Ok(Role::Operator);
    }
    if database.missing_rights(Role::Application).await?.is_empty() {
        let who = "the role of an application: it writes messages, and neither a replica nor a person can work as it";
        findings.push(Finding::warning("rights", &who));
        return Ok(Role::Application);
    }
    let who = format!(
        "this role lacks most of what the dispatcher needs. Is it the role of the replicas? If so, the owner of the tables \
         runs grants/{replicas}, which gives all of it"
    );
    findings.push(Finding::failed("rights", &who));
    findings.extend(missing.iter().map(|grant| lacks(grant)));
    Ok(Role::Dispatcher)
}

fn lacks(grant: &str) -> Finding {
    Finding::failed("rights", &format!("missing: {grant}"))
}
