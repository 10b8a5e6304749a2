//! The holder of a term, as an explanation names it.

use std::fmt;

use outbox_desk::{AttemptEntry, NamingClaim};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The holder of a term, and the name of its replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Holder {
    /// The holder, as claims and attempts have it.
    pub holder: String,
    /// The name of its replica. None where the log of terms does not have the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
}

impl From<&AttemptEntry> for Holder {
    fn from(attempt: &AttemptEntry) -> Self {
        Self { holder: attempt.holder.clone(), instance: attempt.instance.clone() }
    }
}

impl From<&NamingClaim> for Holder {
    fn from(claim: &NamingClaim) -> Self {
        Self { holder: claim.holder.clone(), instance: claim.instance.clone() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&named(&self.holder, self.instance.as_deref()))
    }
}

/// A holder behind the name of its replica, where that is known. Status and terms call the replica by the name.
pub fn named(holder: &str, instance: Option<&str>) -> String {
    instance.map_or_else(|| holder.to_owned(), |instance| format!("{instance} ({holder})"))
}
