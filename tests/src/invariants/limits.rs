//! What a run was allowed to do.

/// What the settings of a fleet allow.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `dispatch.max_in_flight`.
    pub max_in_flight: usize,
    /// `retry.max_attempts`.
    pub max_attempts: usize,
    /// Whether the channel's `in_doubt` is `dead_letter`.
    pub at_most_once: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_in_flight: 512, max_attempts: 10, at_most_once: false }
    }
}
