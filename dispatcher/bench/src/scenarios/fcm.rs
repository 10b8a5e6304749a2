//! FCM, or rather its stand-in: whether the product opens as many connections as the rate needs.

use std::path::Path;

use anyhow::Context;
use serde_json::json;

use super::drain;
use crate::measure::Bench;
use crate::number::{float, median};
use crate::pace::Pace;
use crate::part::kind::Kind;
use crate::part::push::{CERTIFICATE, STREAMS, THINKING};
use crate::part::receiver::Receiver;
use crate::part::{Orders, Part, poster};
use crate::replicas::Manner;
use crate::report::{Figure, Unit};
use crate::rows::Rows;
use crate::scenario::Measure;

/// The messages in flight.
const IN_FLIGHT: usize = 1_500;

/// The key of the demo's service account. It opens nothing.
const KEY: &str = include_str!("../../../demo/src/throw_away_key.pem");

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let receiver = Receiver::start(Kind::Fcm).await?;
    // This scenario delivers everything to the stand-in.
    let webhooks = std::mem::replace(&mut bench.receiver, receiver);
    let figures = measure(bench, rows).await;
    bench.receiver = webhooks;
    figures
}

async fn measure(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let manner = manner(bench)?;
    let (mut bare, mut product) = (Vec::new(), Vec::new());
    let mut pace = Pace::of("fcm", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        bare.push(bare_client(bench, rows).await?);
        let site = bench.grounds.site().await?;
        product.push(drain(bench, &site, &manner, Rows::Push, rows).await?.rate());
        bench.grounds.remove(site).await?;
        let both = (bare.last().copied().unwrap_or_default(), product.last().copied().unwrap_or_default());
        pace.round_is_over(&format!("bare client {:.0}/s, R {:.0}/s", both.0, both.1));
    }
    let (ceiling, bare) = (float(IN_FLIGHT) / THINKING.as_secs_f64(), median(bare));
    let (name, lower) = if bare < ceiling { ("a bare client", bare) } else { ("in flight / latency", ceiling) };
    Ok(vec![
        Figure::new("a bare client", Unit::PerSecond, bare).beside("in flight / latency", ceiling),
        Figure::new("R, the product", Unit::PerSecond, median(product.clone()))
            .beside(name, lower)
            .goal(Measure::Fcm, bench.grounds.dialect())
            .rounds(product),
    ])
}

/// The rate of a bare client with as many connections as its streams need.
async fn bare_client(bench: &mut Bench<'_>, requests: usize) -> anyhow::Result<f64> {
    bench.receiver.begin().await?;
    let orders = poster::Orders {
        urls: vec![format!("{}/v1/projects/bench/messages:send", bench.receiver.url)],
        requests,
        in_flight: IN_FLIGHT,
        clients: IN_FLIGHT.div_ceil(STREAMS as usize),
        tls_ca: Some(CERTIFICATE.to_owned()),
    };
    let _: poster::Posted = Part::done(&Orders::Post(orders)).await?;
    Ok(bench.receiver.arrivals().await?.rate())
}

/// A channel whose service account fetches its tokens from the stand-in.
fn manner(bench: &Bench<'_>) -> anyhow::Result<Manner> {
    let directory = bench.grounds.directory();
    let account = json!({
        "type": "service_account",
        "project_id": "bench",
        "private_key": KEY,
        "client_email": "outbox@bench.iam.gserviceaccount.com",
        "token_uri": bench.receiver.tokens,
    });
    let credentials = kept(&directory.join("service-account.json"), &account.to_string())?;
    let tls_ca = kept(&directory.join("authority.pem"), CERTIFICATE)?;
    let channel = json!({
        "kind": "fcm",
        "base_url": bench.receiver.url,
        "allow_networks": ["127.0.0.0/8"],
        // The stand-in has no quota, so the product needs no limit.
        "rate": 0,
        "credentials": credentials,
        "tls_ca": tls_ca,
    });
    Ok(Manner { channels: json!({"fcm": channel}), ..Manner::plain(IN_FLIGHT) })
}

fn kept(path: &Path, text: &str) -> anyhow::Result<String> {
    std::fs::write(path, text).with_context(|| path.display().to_string())?;
    Ok(path.to_str().context("the path of the temporary directory is not UTF-8")?.to_owned())
}
