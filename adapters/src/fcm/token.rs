//! Access tokens. `gcp_auth` fetches them, and this module keeps them, so that one can be dropped when FCM refuses it.
//!
//! One refresh runs at a time. All that wait for it share its result, even a failure. A token is refreshed [`EARLY`],
//! beside the messages: while the old token is valid, no message waits for the new one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};
use tracing::instrument::WithSubscriber;
use url::Url;

use super::key_file::KeyFile;
use super::refusals::Refusals;

/// How long before its end a token is replaced. The metadata server gives out a new one 5 minutes before the end
/// (<https://cloud.google.com/compute/docs/access/authenticate-workloads>).
const EARLY: Duration = Duration::from_mins(4);

/// The longest that fetching a token may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a valid token is used after an attempt to replace it failed.
const PAUSE: Duration = Duration::from_secs(10);

const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";

/// The source of tokens.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The key file of a service account. It is read anew for each token, so that a rotated key takes effect.
    KeyFile(PathBuf),
    /// Application default credentials.
    Default,
}

/// A token for the `Authorization` header.
pub(super) struct Token {
    pub(super) secret: String,
    renew_at: Instant,
    expires: Instant,
}

impl Token {
    fn new(secret: String, lifetime: Duration) -> Self {
        let now = Instant::now();
        // A token that lives only a few minutes is still used for half of them.
        let early = EARLY.min(lifetime / 2);
        Self { secret, renew_at: now + lifetime.saturating_sub(early), expires: now + lifetime }
    }

    fn is_fresh(&self) -> bool {
        Instant::now() < self.renew_at
    }

    pub(super) fn remaining(&self) -> Duration {
        self.expires.saturating_duration_since(Instant::now())
    }
}

/// The tokens of one channel.
#[derive(Clone)]
pub(super) struct Tokens(Arc<TokenCache>);

struct TokenCache {
    source: Source,
    /// Where the messages go: a stand-in for FCM stands in for Google's token server too.
    base: Url,
    current: RwLock<Option<Arc<Token>>>,
    /// Locked while a token is fetched. It holds the last failure, for those that waited for the fetch.
    refresh: Arc<Mutex<Option<Failure>>>,
}

struct Failure {
    at: Instant,
    error: String,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("source", &self.0.source).finish_non_exhaustive()
    }
}

impl Tokens {
    pub(super) fn new(source: Source, base: Url) -> Self {
        Self(Arc::new(TokenCache { source, base, current: RwLock::default(), refresh: Arc::default() }))
    }

    /// A token that has not expired. The error says why there is none.
    ///
    /// # Cancel safety
    /// Safe: the next caller fetches it.
    pub(super) async fn get(&self, deadline: Instant) -> Result<Arc<Token>, String> {
        let asked = Instant::now();
        let held = self.0.held();
        if let Some(token) = held.as_ref().filter(|token| token.is_fresh()) {
            return Ok(Arc::clone(token));
        }
        if let Some(token) = held.filter(|token| !token.remaining().is_zero()) {
            self.renew();
            return Ok(token);
        }
        let Ok(mut failure) = timeout_at(deadline, self.0.refresh.lock()).await else {
            return Err("somebody else's request for one is not answered".to_owned());
        };
        self.0.refresh(&mut failure, asked, deadline).await
    }

    /// Fetches a new token beside its callers, unless a fetch is under way or has just failed.
    fn renew(&self) {
        let Ok(mut failure) = Arc::clone(&self.0.refresh).try_lock_owned() else { return };
        if failure.as_ref().is_some_and(|failure| failure.at.elapsed() < PAUSE) {
            return;
        }
        let kept = Arc::clone(&self.0);
        tokio::spawn(async move {
            let asked = Instant::now();
            if let Err(error) = kept.refresh(&mut failure, asked, asked + PATIENCE).await {
                tracing::warn!(error, "fcm.token_not_renewed");
            }
        });
    }

    /// Drops the token `refused`, unless it has been replaced already.
    pub(super) fn forget(&self, refused: &Arc<Token>) {
        let mut current = self.0.current.write();
        if current.as_ref().is_some_and(|token| Arc::ptr_eq(token, refused)) {
            *current = None;
        }
    }
}

impl TokenCache {
    fn held(&self) -> Option<Arc<Token>> {
        self.current.read().clone()
    }

    async fn refresh(
        &self,
        last: &mut Option<Failure>,
        asked: Instant,
        deadline: Instant,
    ) -> Result<Arc<Token>, String> {
        if let Some(token) = self.held().filter(|token| token.is_fresh()) {
            return Ok(token);
        }
        if let Some(failure) = last.as_ref().filter(|failure| failure.at >= asked) {
            return Err(failure.error.clone());
        }
        let deadline = deadline.min(Instant::now() + PATIENCE);
        let fetched = match timeout_at(deadline, self.source.fetch(&self.base)).await {
            Ok(fetched) => fetched,
            Err(_) => Err("no answer in time".to_owned()),
        };
        match fetched {
            Ok(token) => {
                let token = Arc::new(token);
                *self.current.write() = Some(Arc::clone(&token));
                Ok(token)
            }
            Err(error) => {
                *last = Some(Failure { at: Instant::now(), error: error.clone() });
                Err(error)
            }
        }
    }
}

impl Source {
    /// Fetches a new token. The provider is made anew each time, since it would give out the token that it keeps.
    async fn fetch(&self, base: &Url) -> Result<Token, String> {
        let refusals = Refusals::default();
        let (fetched, endpoint) = if let Some(path) = self.key_file() {
            let base = base.clone();
            // This reads the key and the system's root certificates from disk.
            let account = tokio::task::spawn_blocking(move || {
                let KeyFile { json, token_uri, .. } = KeyFile::read(&path, &base)?;
                // Its text may quote the key, so it is left out.
                let account = gcp_auth::CustomServiceAccount::from_json(&json)
                    .map_err(|_| format!("the file {} cannot be used as a service account's key", path.display()))?;
                Ok::<_, String>((account, token_uri))
            });
            let (account, token_uri) = account.await.map_err(|error| error.to_string())??;
            let fetching = gcp_auth::TokenProvider::token(&account, &[SCOPE]);
            (fetching.with_subscriber(refusals.clone()).await, token_uri)
        } else {
            let fetching = async { gcp_auth::provider().await?.token(&[SCOPE]).await };
            (fetching.with_subscriber(refusals.clone()).await, "the token server".to_owned())
        };
        let token = fetched.map_err(|error| refusals.last(&endpoint).unwrap_or_else(|| explain(&error)))?;
        let lifetime = SystemTime::from(token.expires_at()).duration_since(SystemTime::now()).unwrap_or_default();
        Ok(Token::new(token.as_str().to_owned(), lifetime))
    }

    fn key_file(&self) -> Option<PathBuf> {
        match self {
            Self::KeyFile(path) => Some(path.clone()),
            // The file is read here, since `gcp_auth` would panic at a `token_uri` that is not a URL.
            Self::Default => std::env::var_os("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from),
        }
    }
}

/// Why `gcp_auth` has no token. Its own texts may quote a key or an answer with a token, so only those of the network are shown.
fn explain(error: &gcp_auth::Error) -> String {
    if let gcp_auth::Error::NoAuthMethod(..) = error {
        return NO_CREDENTIALS.to_owned();
    }
    let causes = std::iter::successors(std::error::Error::source(error), |cause| (**cause).source());
    let of_the_network = causes
        .filter(|cause| cause.is::<std::io::Error>() || cause.is::<hyper::Error>() || cause.is::<rustls::Error>());
    match of_the_network.last() {
        Some(cause) => format!("the token server was not reached: {cause}"),
        None => "the answer of the token server holds no token".to_owned(),
    }
}

/// Where credentials were looked for in vain.
const NO_CREDENTIALS: &str = "there are no credentials: GOOGLE_APPLICATION_CREDENTIALS names no file, the folder of gcloud \
    (~/.config/gcloud) has no login that works, and neither a metadata server nor the program gcloud gave a token. Set the \
    channel's credentials";

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_for_an_hour_is_replaced_four_minutes_before_its_end() {
        let token = Token::new("token".to_owned(), Duration::from_hours(1));
        advance(Duration::from_millis(56 * 60_000 - 1)).await;
        assert!(token.is_fresh());
        advance(Duration::from_millis(1)).await;
        assert_eq!((token.is_fresh(), token.remaining()), (false, Duration::from_mins(4)));
    }
}
