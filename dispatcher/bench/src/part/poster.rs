//! Raw HTTP: a bare client that sends as fast as the receiver answers. Its rate is H.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::number::Percentiles;
use crate::rows::payload;
use crate::usage::Usage;

/// The requests to send.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The URLs of the receiver. Requests go to one after the other.
    pub(crate) urls: Vec<String>,
    /// The number of requests.
    pub(crate) requests: usize,
    /// The number of requests in flight.
    pub(crate) in_flight: usize,
    /// The number of clients. Over HTTP/2 each client has one connection.
    pub(crate) clients: usize,
    /// The certificate authority to trust, as PEM.
    pub(crate) tls_ca: Option<String>,
}

/// The result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Posted {
    /// The durations of the requests.
    pub(crate) took: Percentiles,
    /// The usage of the client.
    pub(crate) usage: Usage,
}

pub(super) async fn post(orders: Orders) -> anyhow::Result<Posted> {
    let Orders { urls, requests, in_flight, clients, tls_ca } = orders;
    let clients: Vec<_> = (0..clients).map(|_| client(tls_ca.as_deref())).collect::<Result<_, _>>()?;
    let (left, urls) = (Arc::new(AtomicUsize::new(requests)), Arc::new(urls));
    let senders: Vec<_> = clients
        .iter()
        .cycle()
        .take(in_flight)
        .map(|client| tokio::spawn(send_on(client.clone(), urls.clone(), left.clone())))
        .collect();
    let mut took = Vec::with_capacity(requests);
    for sender in senders {
        took.extend(sender.await??);
    }
    Ok(Posted { took: Percentiles::of(took), usage: Usage::own() })
}

/// An HTTP client with no more work than it needs.
pub(crate) fn bare_client() -> reqwest::Result<reqwest::Client> {
    client(None)
}

fn client(tls_ca: Option<&str>) -> reqwest::Result<reqwest::Client> {
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).pool_max_idle_per_host(usize::MAX);
    match tls_ca {
        Some(pem) => client.tls_certs_only([reqwest::Certificate::from_pem(pem.as_bytes())?]).build(),
        None => client.build(),
    }
}

/// Sends one request after the other until none is left. Returns the durations in microseconds.
async fn send_on(client: reqwest::Client, urls: Arc<Vec<String>>, left: Arc<AtomicUsize>) -> anyhow::Result<Vec<u32>> {
    let (body, mut took) = (payload(), Vec::new());
    while let Ok(number) = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
        let began = Instant::now();
        let request =
            client.post(&urls[number % urls.len()]).header("content-type", "application/json").body(body.clone());
        let answer = request.send().await?;
        if !answer.status().is_success() {
            bail!("the receiver of the bench answered {}", answer.status());
        }
        answer.bytes().await?;
        took.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    Ok(took)
}
