//! Which rights the role of the connection lacks. The files in `grants/` say what each role needs.

use super::shipped::{Kind, Right};
use sqlx::{AssertSqlSafe, MySqlConnection};

use super::lacking::lacks_rights;
use super::shipped::Role;
use crate::session::Session;
use crate::sql::{AnyTransaction, while_doing};
use crate::statement::Statement;
use crate::{Database, QueryError};

const WHO: Statement = statement!("migrate/who");

const DOING: &str = "comparing the rights of the role with the shipped grants";

impl Database {
    /// The statements that give the rights of a kind of role which this role lacks, for whoever owns the tables. Rights
    /// of groups and roles count, whatever way the role has them. SQLite has no roles.
    pub async fn missing_rights(&self, of: Role) -> Result<Vec<String>, QueryError> {
        let wanted: Vec<_> = super::shipped::of(of, self.dialect()).into_iter().collect();
        let mut transaction = AnyTransaction::to_read(self).await.map_err(while_doing(DOING))?;
        let who = transaction.connection().rows(&WHO, &[]).await.map_err(while_doing(DOING))?.pop();
        transaction.commit().await.map_err(while_doing(DOING))?;
        let (role, place): (String, String) = who.unwrap_or_default();
        let missing = match self {
            Self::Postgres(pool) => {
                let part = |of: fn(&Right) -> String| wanted.iter().map(of).collect::<Vec<_>>();
                let rows: Vec<i64> = sqlx::query_scalar(query!("postgres/checks/rights"))
                    .bind(part(|right| right.kind.as_str().to_owned()))
                    .bind(part(|right| right.object.clone()))
                    .bind(part(|right| right.privilege.clone()))
                    .bind(part(|right| right.column.clone()))
                    .fetch_all(pool)
                    .await
                    .map_err(while_doing(DOING))?;
                rows.into_iter().filter_map(|place| wanted.get(usize::try_from(place).ok()?.checked_sub(1)?)).collect()
            }
            Self::MySql(pool) => {
                let mut session = Session::begin(pool, "BEGIN").await.map_err(while_doing(DOING))?;
                let mut missing = Vec::new();
                for right in &wanted {
                    if !on_mysql(&mut session, right).await.map_err(while_doing(DOING))? {
                        missing.push(right);
                    }
                }
                let _ = session.roll_back().await;
                missing
            }
            Self::Sqlite(_) => Vec::new(),
        };
        Ok(super::shipped::grants(missing, &place, &role))
    }
}

/// Whether the session has a right to a column, or to the whole of a table. MySQL tells the rights to columns, however the session
/// has them; a right to remove rows shows only in trying, on no row.
async fn on_mysql(session: &mut MySqlConnection, right: &Right) -> sqlx::Result<bool> {
    let Right { privilege, kind: Kind::Table, object, column } = right else { return Ok(true) };
    if privilege == "DELETE" {
        let nothing = AssertSqlSafe(format!("DELETE FROM {object} WHERE FALSE"));
        return match sqlx::raw_sql(nothing).execute(session).await {
            Err(error) if lacks_rights(&error) => Ok(false),
            // Whatever else is wrong is no matter of rights.
            Ok(_) | Err(_) => Ok(true),
        };
    }
    let columns: Vec<(String, String)> =
        sqlx::query_as(query!("mysql/checks/rights")).bind(object).fetch_all(session).await?;
    let privilege = privilege.to_lowercase();
    let mut asked = columns.iter().filter(|(name, _)| column.is_empty() || name == column).peekable();
    let has = |(_, rights): &(String, String)| rights.split(',').any(|one| one == privilege);
    // A table to which there is no right is not shown.
    Ok(asked.peek().is_some() && asked.all(has))
}
