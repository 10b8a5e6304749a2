//! The webhook: posts a body, a few times where need be. Its address is a secret, and in no error.

use std::time::Duration;

use anyhow::Context;
use backon::{ExponentialBuilder, Retryable};
use outbox_adapters::ensure_crypto_provider;
use reqwest::{Client, StatusCode, Url, redirect};
use serde_json::Value;

use crate::text::with_causes;
use outbox_config::AlertsConfig;

/// How long one try may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The first wait after a try that failed. The second is twice as long.
const WAIT: Duration = Duration::from_secs(1);

/// Tries after the first one.
const AGAIN: usize = 2;

/// Where alerts are posted.
#[derive(Debug)]
pub(super) struct Webhook {
    url: SecretAddress,
    client: Client,
}

/// An address that nobody sees.
struct SecretAddress(Url);

impl std::fmt::Debug for SecretAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// Why a try failed.
struct Failure {
    why: String,
    may_pass: bool,
}

impl Webhook {
    /// The webhook of the settings.
    pub(super) fn new(config: &AlertsConfig) -> anyhow::Result<Self> {
        let secret = config.url.reveal().map_err(anyhow::Error::msg).context("alerts.url")?;
        // Neither error repeats the address.
        let url = Url::parse(secret.trim()).context("alerts.url is not a URL")?;
        anyhow::ensure!(matches!(url.scheme(), "http" | "https"), "alerts.url must begin with http:// or https://");
        ensure_crypto_provider();
        // A receiver that sends one elsewhere would learn nothing more by it, but the post would be made twice.
        let client = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none()).no_proxy().build()?;
        Ok(Self { url: SecretAddress(url), client })
    }

    /// Whether what is posted, and the address, can be read on the network.
    pub(super) fn is_in_the_clear(&self) -> bool {
        let host = self.url.0.host_str().unwrap_or_default();
        self.url.0.scheme() == "http" && !outbox_store::tls::is_this_machine(host)
    }

    /// Posts a body, and tries it again where that may help.
    pub(super) async fn post(&self, body: &Value) -> Result<(), String> {
        let backoff = ExponentialBuilder::default().with_min_delay(WAIT).with_max_times(AGAIN);
        let posted = (|| self.once(body)).retry(backoff).when(|failure| failure.may_pass).await;
        posted.map_err(|failure| failure.why)
    }

    async fn once(&self, body: &Value) -> Result<(), Failure> {
        let request = self.client.post(self.url.0.clone()).header("Content-Type", "application/json");
        let answer = request.body(body.to_string()).send().await;
        let status = match answer {
            Ok(answer) => answer.status(),
            Err(error) => {
                let why = with_causes(&anyhow::Error::new(error.without_url()));
                return Err(Failure { why, may_pass: true });
            }
        };
        if status.is_success() {
            return Ok(());
        }
        let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
        let may_pass = status.is_server_error() || passing.contains(&status);
        Err(Failure { why: format!("it answered {status}"), may_pass })
    }
}
