//! An outcome in JSON under the name of its action: `{"redrive": {…}}`.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Action, Outcome};

#[expect(clippy::ref_option, reason = "serde hands it over so")]
pub(super) fn serialize<S: Serializer>(outcome: &Option<Outcome>, serializer: S) -> Result<S::Ok, S::Error> {
    outcome.as_ref().map(|outcome| BTreeMap::from([(outcome.action.as_str(), outcome)])).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Outcome>, D::Error> {
    let outcome: Option<BTreeMap<String, Value>> = Deserialize::deserialize(deserializer)?;
    let Some((name, json)) = outcome.and_then(|outcome| outcome.into_iter().next()) else { return Ok(None) };
    let action = Action::named(&name).ok_or_else(|| D::Error::custom(format!("{name:?} is no action")))?;
    Outcome::read(action, json).map(Some).map_err(D::Error::custom)
}
