//! Inserts rows, and measures how they are delivered.

use crate::grounds::Site;
use crate::measure::{Bench, Delivered};
use crate::replicas::Manner;
use crate::rows::{self, Rows};

/// Inserts rows, and measures how replicas of `manner` deliver them.
pub(super) async fn drain(
    bench: &mut Bench<'_>,
    site: &Site,
    manner: &Manner,
    kind: Rows,
    rows: usize,
) -> anyhow::Result<Delivered> {
    rows::insert(&site.database, kind, rows, &bench.receiver.url).await?;
    rows::tidy(&site.database).await?;
    bench.deliver(site, manner, rows).await
}

/// The drain that others are compared with: as many due rows, in an outbox that holds nothing else.
pub(super) async fn plain_drain(bench: &mut Bench<'_>, manner: &Manner, rows: usize) -> anyhow::Result<Delivered> {
    let site = bench.grounds.site().await?;
    let delivered = drain(bench, &site, manner, Rows::Due, rows).await?;
    bench.grounds.remove(site).await?;
    Ok(delivered)
}
