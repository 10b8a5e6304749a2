//! How fast, and how many: what the forms of a redrive and of a replay ask.

use std::num::NonZeroU32;

use maud::{Markup, html};
use outbox_desk::Pace;
use serde::Deserialize;

use super::fields::Fields;
use crate::api::Problem;

/// The fields that are no part of a filter.
pub(super) const PACE: [&str; 2] = ["canary", "rate"];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PaceFields {
    canary: Option<NonZeroU32>,
    rate: Option<NonZeroU32>,
}

/// The pace that a form asks for.
pub(super) fn pace(sent: &Fields) -> Result<Pace, Problem> {
    let PaceFields { canary, rate } = sent.among(&PACE, true).read()?;
    Ok(Pace { canary, rate })
}

/// The fields of a form, as they were sent.
pub(super) fn pace_fields(sent: &Fields) -> Markup {
    html! {
        label {
            span { "Canary" span.hint { "only so many, to see what becomes of them; empty: all" } }
            input type="number" name="canary" min="1" max="4294967295" value=[sent.get("canary")];
        }
        label {
            span { "Rate" span.hint { "so many a second come due; empty: all at once" } }
            input type="number" name="rate" min="1" max="4294967295" value=[sent.get("rate")];
        }
    }
}
