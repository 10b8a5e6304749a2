//! An application on MySQL or MariaDB: an order and its message, committed together.

use outbox_schema::{Enqueued, NewMessage};
use sqlx::{Connection, MySqlConnection};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut connection = MySqlConnection::connect(&std::env::var("DATABASE_URL")?).await?;
    let mut tx = connection.begin().await?;
    sqlx::query("INSERT INTO orders (id, state) VALUES (4711, 'placed')").execute(&mut *tx).await?;
    let order = serde_json::json!({"order": 4711, "state": "placed"});
    let message =
        NewMessage::http("https://shop.example/hooks/orders").json(&order).idempotency_key("order-4711-placed");
    match outbox_schema::enqueue(&mut *tx, &message).await? {
        Enqueued::Inserted { id, .. } => eprintln!("message {id} goes out once this is committed"),
        Enqueued::Duplicate { .. } => eprintln!("this order has its message already"),
    }
    tx.commit().await?;
    Ok(())
}
