//! Unknown keys, and the known keys that were probably meant.

use outbox_adapters::Kind;
use toml::Value;

use super::key::{CHANNELS, Key, RECURRING};
use super::known::Known;
use super::problem::Problem;
use super::setting::Origin;
use super::source::{GivenValue, Raw};

/// A name that is less similar than this is not suggested.
const NEAR: f64 = 0.65;

/// An unknown key outside the channels.
pub(super) fn unknown(key: &Key, given: &GivenValue, known: &Known) -> Option<Problem> {
    let mut keys: Vec<Key> = known.fixed().map(|(key, _)| key).collect();
    if let Some(name) = key.recurring() {
        keys = known.recurring.iter().map(|row| Key::of_recurring(name).child(row.name)).collect();
    }
    let known = keys;
    let within = |section: &Key| known.iter().filter(|known| known.section() == *section).collect::<Vec<_>>();
    let is_table = matches!(&given.value, Raw::Typed(Value::Table(_)));
    if key.is_of_names() || !within(key).is_empty() {
        let advice = format!("is a section: give its keys a value, as in {key}.KEY = …");
        return (!is_table).then(|| Problem::with_key(&given.origin, key, advice));
    }
    let first = key.parts().first().map_or("", String::as_str);
    let section = within(&key.section());
    let advice = if key.parts().len() > 1 && strsim::normalized_damerau_levenshtein(first, CHANNELS) > 0.75 {
        format!("did you mean {CHANNELS}.{}?", key.parts()[1..].join("."))
    } else if let Some(meant) = nearest(key, &known) {
        format!("did you mean {}?", spelled(meant, &given.origin))
    } else if section.is_empty() {
        let mut sections: Vec<_> = known.iter().map(|key| key.section().to_string()).collect();
        sections.dedup();
        format!("the sections are {}, {CHANNELS}.NAME, {RECURRING}.NAME", sections.join(", "))
    } else {
        format!("the keys of {} are {}", key.section(), listed(section))
    };
    Some(Problem::with_key(&given.origin, key, format!("is not a setting; {advice}")))
}

/// A key in a channel that the channel's kind does not have.
pub(super) fn unknown_of_channel(key: &Key, given: &GivenValue, section: &Key, kind: &Kind, known: &Known) -> Problem {
    let of_other = known.kinds().find(|other| known.of_channel(section, other).contains(key));
    let (known, kind) = (known.of_channel(section, kind), kind.name);
    let advice = if let Some(other) = of_other {
        let keys = listed(known.iter().collect());
        format!(
            "is a setting of {} channels, and this one is {kind}; the keys of {kind} channels are {keys}",
            other.name
        )
    } else if let Some(meant) = nearest(key, &known) {
        format!("is not a setting of {kind} channels; did you mean {}?", spelled(meant, &given.origin))
    } else {
        format!("is not a setting of {kind} channels; their keys are {}", listed(known.iter().collect()))
    };
    Problem::with_key(&given.origin, key, advice)
}

fn listed(keys: Vec<&Key>) -> String {
    keys.into_iter().map(Key::name).collect::<Vec<_>>().join(", ")
}

/// The key in the spelling of its source.
fn spelled(key: &Key, origin: &Origin) -> String {
    match origin {
        Origin::Env(_) => key.to_env(),
        Origin::Default | Origin::Follows(_) | Origin::File { .. } | Origin::Flag => key.to_string(),
    }
}

/// The known key that `key` most likely means, if one is near.
fn nearest<'a>(key: &Key, candidates: &'a [Key]) -> Option<&'a Key> {
    let score = |candidate: &Key| {
        let section = strsim::normalized_damerau_levenshtein(
            &key.section().parts().join("."),
            &candidate.section().parts().join("."),
        );
        // The last part counts double: it is the more specific. An exact name in the wrong section is a hit.
        (section + 2.0 * strsim::normalized_damerau_levenshtein(key.name(), candidate.name())) / 3.0
    };
    let scored = candidates.iter().map(|candidate| (score(candidate), candidate));
    scored.filter(|(score, _)| *score >= NEAR).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}
