//! A page of what a filter means.

use outbox_admin::api::Page;
use serde::Serialize;

/// A filter, and the page of the findings to return.
#[derive(Serialize)]
pub(super) struct Filtered<'a, F> {
    #[serde(flatten)]
    pub(super) filter: &'a F,
    #[serde(flatten)]
    pub(super) page: Page,
}
