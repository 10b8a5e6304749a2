//! A stand-in for FCM, for people who have no Firebase project: docs/fcm.md shows how to try a channel with it.

#![allow(clippy::print_stdout, reason = "what it prints is for whoever started it")]

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use outbox_tests::fcm::{Options, StandIn};

/// Stands in for FCM and for Google's token endpoint. Prints one line of JSON: what a channel's settings need.
#[derive(Debug, Parser)]
#[command(name = "fcm-stand-in")]
struct Arguments {
    /// Where it listens.
    #[arg(long, default_value = "127.0.0.1")]
    listen: IpAddr,
    /// Port for sends, over TLS; 0 is a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Port for access tokens and for control, in plain text; 0 is a free one.
    #[arg(long, default_value_t = 0)]
    control_port: u16,
    /// How it is called in URLs and in its certificate.
    #[arg(long, default_value = "localhost")]
    host: String,
    /// Where service-account.json and ca.pem are written.
    #[arg(long, default_value = "fcm-stand-in")]
    directory: PathBuf,
    /// How long an answer takes, as "100ms".
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    latency: Duration,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Arguments { listen, port, control_port, host, directory, latency } = Arguments::parse();
    let directory = Some(std::path::absolute(directory)?);
    let stand_in =
        StandIn::start(&Options { listen, port, control_port, host, directory, latency, ..Options::default() });
    println!("{}", serde_json::to_string(stand_in.places())?);
    tokio::signal::ctrl_c().await?;
    Ok(())
}
