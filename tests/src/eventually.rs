//! Waiting for a state, in place of sleeping for as long as it may take.

use std::time::{Duration, Instant};

/// How often the state is looked at.
const INTERVAL: Duration = Duration::from_millis(10);

/// Looks with `probe` until it gives a value, and returns that value.
///
/// # Panics
/// When `within` is over, naming `what` was awaited. The probe that is running then is dropped.
pub async fn eventually<T, P, F>(what: &str, within: Duration, mut probe: P) -> T
where
    P: FnMut() -> F,
    F: Future<Output = Option<T>>,
{
    let began = Instant::now();
    let seen = tokio::time::timeout(within, async {
        loop {
            if let Some(value) = probe().await {
                return value;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    });
    seen.await.unwrap_or_else(|_| panic!("waited {:?} in vain: {what}", began.elapsed()))
}

/// Far longer than anything takes: the machine may be busy with other tests.
pub const PATIENCE: Duration = Duration::from_mins(5);
