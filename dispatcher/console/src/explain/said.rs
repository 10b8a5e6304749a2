//! A cause and its sentence.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A cause and its sentence. In JSON the name of the cause is `cause`, and its fields stand beside that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Said<C> {
    /// The cause.
    #[serde(flatten)]
    pub cause: C,
    /// One or more sentences about the message (`It …`).
    pub sentence: String,
}

impl<C: std::fmt::Display> From<C> for Said<C> {
    fn from(cause: C) -> Self {
        Self { sentence: cause.to_string(), cause }
    }
}
