//! What is in force until it is replaced as a whole, as the settings are when they are read anew.

use std::sync::Arc;

use tokio::sync::watch;

/// A value that many tasks read, and that is replaced as a whole. A task that begins something takes the value along,
/// and finishes under that value.
#[derive(Debug)]
pub struct Reloadable<T>(watch::Sender<Arc<T>>);

impl<T> Reloadable<T> {
    /// Puts `value` in force.
    pub fn new(value: T) -> Self {
        Self(watch::Sender::new(Arc::new(value)))
    }

    /// The value in force at this moment.
    pub fn current(&self) -> Arc<T> {
        self.0.borrow().clone()
    }

    /// Replaces the value, for all that share it.
    pub fn replace(&self, value: T) {
        self.0.send_replace(Arc::new(value));
    }

    /// Tells of each replacement from now on.
    pub fn replacements(&self) -> watch::Receiver<Arc<T>> {
        self.0.subscribe()
    }
}

/// Shares the value.
impl<T> Clone for Reloadable<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
