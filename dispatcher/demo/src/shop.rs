//! The application: it takes orders, and writes each with its messages in one transaction.

use std::collections::{HashMap, HashSet};

use anyhow::Context;
use outbox_schema::{FcmTarget, NewMessage, enqueue_all};
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection};

use super::manner::Manner;
use super::stage::Stage;

/// The number of orders that the shop begins.
const ORDERS: u32 = 2_200;

/// One order in this many is rolled back, after all of it has been written.
const ROLLED_BACK: u32 = 11;

const CREATE_ORDERS: &str =
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, cents INTEGER NOT NULL)";
const INSERT_ORDER: &str = "INSERT INTO orders (id, customer, cents) VALUES (?1, ?2, ?3)";

/// The shop's own account of its orders and messages.
#[derive(Debug, Default)]
pub(super) struct Sales {
    /// Orders that were committed.
    pub(super) orders: usize,
    /// Orders that were rolled back.
    pub(super) orders_rolled_back: usize,
    /// The idempotency keys of the committed messages, and how the target of each will answer.
    pub(super) committed: HashMap<String, Manner>,
    /// The idempotency keys of the messages that were rolled back.
    pub(super) rolled_back: HashSet<String>,
}

/// A message of an order.
struct OrderMessage {
    key: String,
    manner: Manner,
    message: NewMessage,
}

/// Opens the shop. It has its own connection to the database that also holds the outbox, and its own table.
pub(super) async fn open(stage: &Stage) -> anyhow::Result<SqliteConnection> {
    // The shop's commits survive a kill, but not a power cut: that would cost a disk flush for each commit.
    let options = SqliteConnectOptions::new().filename(stage.database()).synchronous(SqliteSynchronous::Normal);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    sqlx::query(CREATE_ORDERS).execute(&mut connection).await?;
    Ok(connection)
}

/// Takes all orders.
pub(super) async fn sell(connection: &mut SqliteConnection) -> anyhow::Result<Sales> {
    let mut sold = Sales::default();
    for order in 1..=ORDERS {
        place(connection, order, &mut sold).await.with_context(|| format!("order {order} cannot be placed"))?;
    }
    Ok(sold)
}

/// Writes the order and its messages in one transaction: both or neither.
async fn place(connection: &mut SqliteConnection, order: u32, sold: &mut Sales) -> anyhow::Result<()> {
    let told = messages(order);
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query(INSERT_ORDER)
        .bind(order)
        .bind(format!("customer-{}", order % 97))
        .bind(order % 5_000 + 499)
        .execute(&mut *transaction)
        .await?;
    let messages: Vec<_> = told.iter().map(|told| told.message.clone()).collect();
    enqueue_all(&mut *transaction, &messages).await?;
    if order.is_multiple_of(ROLLED_BACK) {
        transaction.rollback().await?;
        sold.orders_rolled_back += 1;
        sold.rolled_back.extend(told.into_iter().map(|told| told.key));
    } else {
        transaction.commit().await?;
        sold.orders += 1;
        sold.committed.extend(told.into_iter().map(|told| (told.key, told.manner)));
    }
    Ok(())
}

/// The messages of an order. The warehouse gets a webhook for each order. Every fourth customer has the app and gets a
/// push.
fn messages(order: u32) -> Vec<OrderMessage> {
    let mut messages = vec![webhook(order)];
    if order.is_multiple_of(4) {
        messages.push(push(order));
    }
    messages
}

fn webhook(order: u32) -> OrderMessage {
    let manner = match order % 100 {
        13 | 63 => Manner::Busy,
        7 => Manner::Gone,
        21 => Manner::Refusing,
        // Only the first orders have such targets. A poller that met only broken targets at the end would conclude that
        // their receiver is down.
        42 if order < 400 => Manner::Broken,
        _ => Manner::Well,
    };
    let key = format!("order-{order}-placed");
    let message = NewMessage::http(format!("/{}/order-{order}", manner.word()))
        .channel("webhook")
        .json(&json!({ "order": order, "state": "placed" }))
        .idempotency_key(&key);
    OrderMessage { key, manner, message }
}

/// The push for an order. People wait for it, so it has a higher priority than the webhooks.
fn push(order: u32) -> OrderMessage {
    let manner = match order % 160 {
        // After a busy answer FCM needs 10 s before the next attempt, so the demo has only one such push.
        8 if order < 160 => Manner::Busy,
        40 => Manner::Gone,
        80 => Manner::Refusing,
        _ => Manner::Well,
    };
    let key = format!("order-{order}-thanks");
    let message = NewMessage::fcm(FcmTarget::Token(format!("{}-device-{order}", manner.word())))
        .channel("push")
        .notification("Thank you", format!("We have your order {order}"))
        .priority(1)
        .idempotency_key(&key);
    OrderMessage { key, manner, message }
}
