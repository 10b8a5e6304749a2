//! Marks: a group is written as a whole or not at all, but for rows that somebody else has locked.

use std::collections::{HashMap, HashSet};
use std::slice;

use super::errors::{failed, is_lock};
use super::{MySqlStore, Step};
use crate::literal::{spelled_out, text};
use crate::mark::MarkReport;
use crate::sql::AnyConnection;
use crate::store::outcomes::tell_marked;
use crate::store::steps::{MarkGroup, attempts_to_record};
use crate::store::wire::{MarkRow, as_json};
use crate::{ClaimId, Mark, StoreError};
use outbox_schema::MessageId;
use serde::Serialize;
use sqlx::{Executor, Row};
use uuid::Uuid;

const DOING: &str = "marking messages";

impl MySqlStore {
    /// The marks that tell of an outcome come last, and wait for nobody: an application may have locked the gap in which the key of
    /// an outcome lies, and all others would wait for that transaction as well.
    pub(super) async fn mark_in_steps(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        let (telling, others): (Vec<Mark>, Vec<Mark>) = marks.iter().cloned().partition(|mark| mark.told.is_some());
        if telling.is_empty() {
            return self.mark_together(marks, finished).await;
        }
        let (told, quiet): (Vec<ClaimId>, Vec<ClaimId>) =
            finished.iter().partition(|claim| telling.iter().any(|mark| mark.claim == **claim));
        let mut report = MarkReport::default();
        if !others.is_empty() {
            report = self.mark_together(&others, &quiet).await?;
        }
        // What is held of the others keeps its claim.
        let keeps = |claim: &ClaimId| others.iter().any(|mark| mark.claim == *claim && report.held.contains(&mark.id));
        let ended = told.into_iter().filter(|claim| !keeps(claim)).collect();
        let told = self.mark_telling(&telling, ended).await?;
        report.fenced.extend(told.fenced);
        report.held.extend(told.held);
        Ok(report)
    }

    async fn mark_together(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        let finished = finished.iter().map(|claim| claim.0).collect();
        let mut step = self.begin(DOING).await?;
        let report = write(&mut step, &MarkGroup::of(marks), finished).await?;
        step.commit().await.map_err(|error| failed(DOING, error))?;
        Ok(report)
    }

    /// Writes marks that tell of an outcome: together, or each by itself where one of them would wait. That one is held.
    async fn mark_telling(&self, marks: &[Mark], mut finished: Vec<ClaimId>) -> Result<MarkReport, StoreError> {
        match self.mark_at_once(marks, &finished).await {
            Err(error) if is_lock(&error) => {}
            answer => return answer,
        }
        let mut report = MarkReport::default();
        for mark in marks {
            match self.mark_at_once(slice::from_ref(mark), &[]).await {
                Ok(one) => {
                    report.fenced.extend(one.fenced);
                    report.held.extend(one.held);
                }
                Err(error) if is_lock(&error) => report.held.push(mark.id),
                Err(error) => return Err(error),
            }
        }
        let held = |claim: &ClaimId| marks.iter().any(|mark| mark.claim == *claim && report.held.contains(&mark.id));
        finished.retain(|claim| !held(claim));
        if !finished.is_empty() {
            self.mark_together(&[], &finished).await?;
        }
        Ok(report)
    }

    /// Writes marks in a session that waits for no lock. After an error the session is closed.
    async fn mark_at_once(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        let finished = finished.iter().map(|claim| claim.0).collect();
        let mut step = self.begin(DOING).await?;
        step.execute(query!("mysql/poller/lock_no_wait")).await.map_err(|error| failed(DOING, error))?;
        let report = write(&mut step, &MarkGroup::of(marks), finished).await?;
        step.execute(query!("mysql/poller/lock_wait")).await.map_err(|error| failed(DOING, error))?;
        step.commit().await.map_err(|error| failed(DOING, error))?;
        Ok(report)
    }
}

/// Writes the marks of a group, but for those of rows that somebody else has locked. The claims that are `finished` without these end.
pub(super) async fn write(
    step: &mut Step,
    group: &MarkGroup<'_>,
    mut finished: Vec<Uuid>,
) -> Result<MarkReport, StoreError> {
    let standing = lock_claims(step, group, &finished).await?;
    let accepted = take(step, group, &standing).await?;
    let (accepted, refused) = group.split(&accepted);
    let (held, fenced) = held_and_fenced(step, &refused, &standing).await?;
    finished.retain(|claim| held.iter().all(|row| row.claim != *claim));

    let attempts = attempts_to_record(&accepted, &refused, &fenced);
    execute(step, query!("mysql/poller/mark_record"), &attempts).await?;
    tell_marked(&mut AnyConnection::MySql(step), accepted.iter().copied()).await?;
    let gone: Vec<&MarkRow<'_>> = accepted.into_iter().filter(|row| row.invalid_target).collect();
    execute(step, query!("mysql/poller/mark_invalid_target"), &gone).await?;
    execute(step, query!("mysql/poller/mark_pause"), &group.pauses()).await?;
    execute(step, query!("mysql/poller/claims_delete"), &finished).await?;
    Ok(MarkReport {
        fenced: fenced.into_iter().map(MessageId).collect(),
        held: held.into_iter().map(|row| MessageId(row.id)).collect(),
    })
}

/// Locks the claims of a group. Returns those that stand.
async fn lock_claims(step: &mut Step, group: &MarkGroup<'_>, finished: &[Uuid]) -> Result<HashSet<Uuid>, StoreError> {
    let standing: Vec<String> = sqlx::query_scalar(query!("mysql/poller/claims_lock"))
        .bind(as_json(DOING, &group.claims(finished))?)
        .fetch_all(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    Ok(standing.iter().filter_map(|id| Uuid::parse_str(id).ok()).collect())
}

/// Locks the rows that may still be marked, and marks them. Returns their ids.
async fn take(step: &mut Step, group: &MarkGroup<'_>, standing: &HashSet<Uuid>) -> Result<Vec<i64>, StoreError> {
    let accepted = lock(step, &group.under(standing)).await?;
    let (delivered, others): (Vec<_>, Vec<_>) = group.split(&accepted).0.into_iter().partition(|row| row.is_delivery());
    mark_delivered(step, &delivered).await?;
    execute(step, query!("mysql/poller/mark"), &others).await?;
    Ok(accepted)
}

/// Locks the rows that may still be marked, but for those that somebody else has locked. Returns their ids.
async fn lock(step: &mut Step, rows: &[&MarkRow<'_>]) -> Result<Vec<i64>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ids = list(rows, |row| row.id.to_string());
    let revisions = of_each(rows, &ids, |row| row.revision.to_string());
    let locked = sqlx::raw_sql(spelled_out(query!("mysql/poller/mark_lock"), &[ids, revisions])).fetch_all(&mut **step);
    let locked = locked.await.map_err(|error| failed(DOING, error))?;
    locked.iter().map(|row| row.try_get(0)).collect::<sqlx::Result<_>>().map_err(|error| failed(DOING, error))
}

/// Marks plain deliveries.
async fn mark_delivered(step: &mut Step, rows: &[&MarkRow<'_>]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let ids = list(rows, |row| row.id.to_string());
    let statement = spelled_out(
        query!("mysql/poller/mark_delivered"),
        &[
            of_each(rows, &ids, |row| row.started_ms.to_string()),
            of_each(rows, &ids, |row| row.receipt.as_deref().map_or_else(null, text)),
            of_each(rows, &ids, |row| row.status_code.map_or_else(null, |code| code.to_string())),
            ids.clone(),
            of_each(rows, &ids, |row| row.revision.to_string()),
        ],
    );
    let done = sqlx::raw_sql(statement).execute(&mut **step).await;
    done.map(drop).map_err(|error| failed(DOING, error))
}

/// An SQL expression for a literal of each row. It is the literal itself where all rows have the same one. Otherwise it
/// looks the literal up by the id.
fn of_each<'a>(rows: &[&'a MarkRow<'_>], ids: &str, value: impl Fn(&'a MarkRow<'_>) -> String) -> String {
    let mut values = rows.iter().map(|row| value(row));
    match values.next() {
        Some(first) if values.all(|other| other == first) => first,
        Some(_) | None => format!("ELT(FIELD(id, {ids}), {})", list(rows, value)),
    }
}

/// The literals of the rows, as a list.
fn list<'a>(rows: &[&'a MarkRow<'_>], value: impl Fn(&'a MarkRow<'_>) -> String) -> String {
    rows.iter().map(|row| value(row)).collect::<Vec<_>>().join(", ")
}

fn null() -> String {
    "NULL".to_owned()
}

/// Of the refused marks, those whose row is as it was claimed, so that somebody else has it locked; and the ids of those whose row has
/// moved on. The others are merely repeated.
async fn held_and_fenced<'a, 'b>(
    step: &mut Step,
    refused: &[&'a MarkRow<'b>],
    standing: &HashSet<Uuid>,
) -> Result<(Vec<&'a MarkRow<'b>>, Vec<i64>), StoreError> {
    if refused.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let rows: Vec<(i64, bool)> = sqlx::query_as(query!("mysql/poller/mark_refused"))
        .bind(as_json(DOING, refused)?)
        .fetch_all(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    let unchanged: HashMap<i64, bool> = rows.into_iter().collect();
    let is_held = |row: &&&MarkRow<'_>| unchanged.get(&row.id) == Some(&true) && standing.contains(&row.claim);
    let held: Vec<_> = refused.iter().filter(is_held).copied().collect();
    let fenced = refused.iter().filter(|row| unchanged.contains_key(&row.id) && !is_held(row)).map(|row| row.id);
    Ok((held, fenced.collect()))
}

/// Runs a statement for its rows. Without rows there is no round trip.
async fn execute<T: Serialize>(step: &mut Step, statement: &'static str, rows: &[T]) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let done = sqlx::query(statement).bind(as_json(DOING, rows)?).execute(&mut **step).await;
    done.map(drop).map_err(|error| failed(DOING, error))
}
