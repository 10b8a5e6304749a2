//! Raw HTTP: a bare client that sends as fast as it is answered. What it reaches is H.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::bench::number::Percentiles;
use crate::bench::rows::payload;
use crate::bench::usage::Usage;

/// What to send.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::bench) struct Orders {
    /// Where to.
    pub(in crate::bench) url: String,
    /// How many requests.
    pub(in crate::bench) requests: usize,
    /// How many at one time.
    pub(in crate::bench) in_flight: usize,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::bench) struct Posted {
    /// How long requests took.
    pub(in crate::bench) took: Percentiles,
    /// What the client took.
    pub(in crate::bench) usage: Usage,
}

pub(super) async fn post(orders: Orders) -> anyhow::Result<Posted> {
    let Orders { url, requests, in_flight } = orders;
    let client = bare_client()?;
    let left = Arc::new(AtomicUsize::new(requests));
    let senders: Vec<_> =
        (0..in_flight).map(|_| tokio::spawn(send_on(client.clone(), url.clone(), left.clone()))).collect();
    let mut took = Vec::with_capacity(requests);
    for sender in senders {
        took.extend(sender.await??);
    }
    Ok(Posted { took: Percentiles::of(took), usage: Usage::own() })
}

/// A client that does no more than it must.
pub(in crate::bench) fn bare_client() -> reqwest::Result<reqwest::Client> {
    outbox_adapters::ensure_crypto_provider();
    reqwest::Client::builder().no_proxy().tcp_nodelay(true).pool_max_idle_per_host(usize::MAX).build()
}

/// One request after the other while there are any left.
async fn send_on(client: reqwest::Client, url: String, left: Arc<AtomicUsize>) -> anyhow::Result<Vec<u32>> {
    let (body, mut took) = (payload(), Vec::new());
    while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
        let began = Instant::now();
        let request = client.post(&url).header("content-type", "application/json").body(body.clone());
        let answer = request.send().await?;
        if !answer.status().is_success() {
            bail!("the receiver of the bench answered {}", answer.status());
        }
        answer.bytes().await?;
        took.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    Ok(took)
}
