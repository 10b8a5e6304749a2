//! The desk, on each of the databases. The statements differ by dialect; the questions and their order do not.

use std::time::Duration;

use async_trait::async_trait;

use super::message::whole_message;
use super::statements::{
    CHANNELS, CURRENT_TERMS, DURABILITY, FORMER_KEY, MAY_CREATE, MESSAGE_ID, PAUSED_COUNT, PAUSED_DESTINATIONS,
    PREPARED, TENANTS, UNSETTLED_CLAIMS,
};
use super::{
    Action, CountedGroups, Cursor, DeadGroup, DeadLetterFilter, DeadLetterPage, Desk, DeskError, DestinationEntry,
    FiguresFilter, FiguresSeries, HaltedKeyPage, HeldBack, InvalidTargetPage, InvalidTargetSelection, KeyCursor,
    MessageFacts, MessageFilter, MessageGroup, MessagePage, MessageRecord, MessageSelection, PausedDestination,
    Selection, TermEntry, TermFilter, Vitals, dead, destinations, facts, figures, halted, held_back, invalid_targets,
    lock_holders, message_selection, messages, prune,
};
use crate::retention::{Pruned, Retention};
use crate::sql::{AnyTransaction, Value, read, while_doing};
use crate::{Database, MessageId, Shard};

/// The entries of the audit among which a former key of a message is looked for.
const FORMER_KEYS: i64 = 100_000;

#[async_trait]
impl Desk for Database {
    async fn vitals(&self, halting: &[String]) -> Result<Vitals, DeskError> {
        vitals(self, halting).await.map_err(while_doing("counting messages"))
    }

    async fn terms(&self, limit: u32) -> Result<Vec<TermEntry>, DeskError> {
        Ok(self.term_page(TermFilter::default(), None, limit).await?.terms)
    }

    async fn message(&self, id: MessageId) -> Result<Option<MessageRecord>, DeskError> {
        message(self, id).await.map_err(while_doing("reading a message"))
    }

    async fn message_by_key(&self, key: &str) -> Result<Option<MessageRecord>, DeskError> {
        let looking = || while_doing("looking for a message");
        let mut ids: Vec<(i64,)> = read(self, &MESSAGE_ID, &[key.into()]).await.map_err(looking())?;
        if ids.is_empty() {
            ids = read(self, &FORMER_KEY, &[key.into(), FORMER_KEYS.into()]).await.map_err(looking())?;
        }
        match ids.first() {
            Some((id,)) => self.message(MessageId(*id)).await,
            None => Ok(None),
        }
    }

    async fn messages(
        &self,
        filter: &MessageFilter,
        after: Option<MessageId>,
        limit: u32,
    ) -> Result<MessagePage, DeskError> {
        messages::page(self, filter, after, limit).await.map_err(while_doing("reading messages"))
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        halting: &[String],
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<DeadLetterPage, DeskError> {
        dead::page(self, filter, halting, after, limit).await.map_err(while_doing("reading dead letters"))
    }

    async fn halted_keys(
        &self,
        halting: &[String],
        channel: Option<&str>,
        after: Option<&KeyCursor>,
        limit: u32,
    ) -> Result<HaltedKeyPage, DeskError> {
        let asked: Vec<_> =
            halting.iter().filter(|name| channel.is_none_or(|channel| *name == channel)).cloned().collect();
        let page = halted::page(self, &asked, after, limit).await;
        page.map_err(while_doing("looking for halted ordering keys"))
    }

    async fn dead_groups(&self, selection: &Selection) -> Result<Vec<DeadGroup>, DeskError> {
        let groups = match selection {
            Selection::Ids(ids) => dead::groups_of(self, ids).await,
            Selection::Filter(filter) => dead::groups(self, filter).await,
        };
        groups.map_err(while_doing("counting dead letters"))
    }

    async fn message_groups(
        &self,
        action: Action,
        selection: &MessageSelection,
    ) -> Result<Vec<MessageGroup>, DeskError> {
        let counted = message_selection::groups(self, action, selection, None).await;
        counted.map(|counted| counted.groups).map_err(while_doing("counting messages"))
    }

    async fn past_retention(&self, retention: &Retention) -> Result<Pruned, DeskError> {
        prune::count(self, retention).await
    }

    async fn destinations(&self, all: bool) -> Result<Vec<DestinationEntry>, DeskError> {
        destinations::list(self, all).await.map_err(while_doing("reading destinations"))
    }

    async fn figures(&self, filter: &FiguresFilter) -> Result<FiguresSeries, DeskError> {
        figures::series(self, filter).await.map_err(while_doing("reading the figures over time"))
    }

    async fn invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        after: Option<i64>,
        limit: u32,
    ) -> Result<InvalidTargetPage, DeskError> {
        let page = invalid_targets::page(self, selection, after, limit).await;
        page.map_err(while_doing("reading targets that are gone"))
    }
}

impl Database {
    /// A message and everything that it may wait for. `halting` are the channels whose ordering keys halt at a dead
    /// letter.
    pub async fn facts(&self, id: MessageId, halting: &[String]) -> Result<Option<MessageFacts>, DeskError> {
        facts::facts(self, id, halting).await.map_err(while_doing("reading a message and what it waits for"))
    }

    /// The groups of [`Desk::message_groups`] for somebody who waits for them: as many messages as can be counted in this time, and
    /// 100,000 at most.
    pub async fn message_groups_within(
        &self,
        patience: Duration,
        action: Action,
        selection: &MessageSelection,
    ) -> Result<CountedGroups, DeskError> {
        let counted = message_selection::groups(self, action, selection, Some(patience)).await;
        counted.map_err(while_doing("counting messages"))
    }

    /// Dead rows that the database keeps for an old snapshot, as far as this role may see them.
    pub async fn held_back(&self) -> Result<HeldBack, DeskError> {
        held_back::held_back(self).await.map_err(while_doing("looking for old snapshots"))
    }

    /// Sessions of others whose locks stand in the way of a poller, as far as this role may see them. Each comes with its
    /// remedy. `locked` are messages that a poller has found locked.
    pub async fn lock_holders(&self, locked: &[MessageId]) -> Result<Vec<String>, DeskError> {
        lock_holders::lock_holders(self, locked).await.map_err(while_doing("looking for locks of others"))
    }

    /// Who besides the owners may make functions and operators in the schema of the tables, which the statements of others
    /// can then call. Each comes with its remedy.
    pub async fn strangers_may_create(&self) -> Result<Vec<String>, DeskError> {
        let rows: Vec<(String, String, String)> =
            read(self, &MAY_CREATE, &[]).await.map_err(while_doing("reading who may create in the schema"))?;
        let warning = |(role, schema, owner): &(String, String, String)| {
            let (by, cure) = if owner.is_empty() {
                ("", format!("REVOKE CREATE ON SCHEMA {schema} FROM {role}"))
            } else {
                let give = format!("ALTER SCHEMA {schema} OWNER TO {owner}");
                (
                    ", as the owner of the schema or of the database",
                    format!(
                        "{give}, after which it creates nothing there; or have a schema for the outbox alone (database.schema)"
                    ),
                )
            };
            format!(
                "{role} may create functions and operators in the schema of the tables{by}, and statements of the dispatcher and the \
                 owner would call them with their rights: {cure}"
            )
        };
        Ok(rows.iter().map(warning).collect())
    }

    /// Settings of the database under which a committed message can be lost. Each comes with its remedy.
    pub async fn durability(&self) -> Result<Vec<String>, DeskError> {
        let settings: Vec<(String, String)> =
            read(self, &DURABILITY, &[]).await.map_err(while_doing("reading the database's settings"))?;
        Ok(settings.iter().filter_map(|(name, setting)| warning(name, setting)).collect())
    }

    /// Why a transaction that inserts a message may fail as it is prepared, for two-phase commit. Comes with its remedy.
    pub async fn prepared_transactions(&self) -> Result<Option<String>, DeskError> {
        let most: Vec<(i64,)> =
            read(self, &PREPARED, &[]).await.map_err(while_doing("reading the database's settings"))?;
        Ok(most.first().map(|(most,)| {
            format!(
                "the database has max_prepared_transactions = {most}, and PREPARE TRANSACTION (XA, JTA) refuses a transaction \
                 whose message wakes the poller. Where an application prepares its transactions, type: \
                 ALTER ROLE its_role SET outbox.wakeup = 'off'"
            )
        }))
    }
}

async fn vitals(database: &Database, halting: &[String]) -> sqlx::Result<Vitals> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    let unsettled: Vec<(i64,)> = connection.rows(&UNSETTLED_CLAIMS, &[]).await?;
    let paused: Vec<(i64,)> = connection.rows(&PAUSED_COUNT, &[]).await?;
    let vitals = Vitals {
        channels: connection.rows_from_index(&CHANNELS, &[]).await?,
        tenants: connection.rows_from_index(&TENANTS, &[i64::from(Shard::default().0).into()]).await?,
        terms: connection.rows(&CURRENT_TERMS, &[]).await?,
        paused: connection.rows(&PAUSED_DESTINATIONS, &[Value::Text(None), PausedDestination::SHOWN.into()]).await?,
        paused_count: paused.first().map_or(0, |(count,)| *count),
        halted: halted::vitals(&mut connection, halting).await?,
        unsettled_claims: unsettled.first().map_or(0, |(count,)| *count),
    };
    transaction.commit().await?;
    Ok(vitals)
}

pub(super) async fn message(database: &Database, id: MessageId) -> sqlx::Result<Option<MessageRecord>> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let found = whole_message(&mut transaction.connection(), id).await?;
    transaction.commit().await?;
    Ok(found)
}

/// What a setting means for the promise that nothing committed is lost.
fn warning(name: &str, setting: &str) -> Option<String> {
    let consequence = match (name, setting) {
        ("fsync", "off") => "a crash of its machine can destroy the whole database. Set fsync = on",
        ("full_page_writes", "off") => "a crash of its machine can leave pages half written. Set full_page_writes = on",
        ("synchronous_commit", "off") => {
            "its crash loses the last committed messages and marks. Set synchronous_commit = on, for this role at least"
        }
        ("innodb_flush_log_at_trx_commit", "0" | "2") => {
            "a crash of its machine loses about the last second of committed messages and marks. Set it to 1"
        }
        ("sync_binlog", setting) if setting != "1" => {
            "a crash of its machine can lose the end of the binary log, so that replicas miss committed messages. Set it to 1"
        }
        ("synchronous", "0" | "1") => {
            "a loss of power loses the last committed messages and marks. Set PRAGMA synchronous = FULL"
        }
        _ => return None,
    };
    Some(format!("the database has {name} = {setting}: {consequence}"))
}
