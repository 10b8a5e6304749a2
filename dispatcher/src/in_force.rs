//! What is in force until it is replaced as a whole, as the settings are when they are read anew.

use std::sync::{Arc, PoisonError, RwLock};

/// One value that many look at and that is replaced as a whole. Whoever begins something takes the value along, and so
/// finishes under what it began under.
#[derive(Debug)]
pub struct InForce<T>(Arc<RwLock<Arc<T>>>);

impl<T> InForce<T> {
    /// This, for now.
    pub fn new(value: T) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(value))))
    }

    /// What is in force at this moment.
    pub fn current(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this, for all who share it.
    pub fn replace(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}

/// Shares it.
impl<T> Clone for InForce<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
