//! What the body of a send may hold, as strictly as FCM takes it: JSON of protocol buffers, in which a field that is
//! not known, or of another type, is an error
//! (<https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages>).

use serde_json::Value;

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Text,
    Bool,
    Int,
    Number,
    /// `"3.5s"`
    Duration,
    Timestamp,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An object whose values are texts.
    Texts,
    ListOfTexts,
    ListOfDurations,
    /// Any JSON object.
    Any,
    Object(Fields),
}

pub(super) type Fields = &'static [(&'static str, Type)];

/// What is wrong with a field, as FCM words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) field: String,
    pub(super) description: String,
}

pub(super) const REQUEST: Fields = &[("validate_only", Type::Bool), ("message", Type::Object(MESSAGE))];

const MESSAGE: Fields = &[
    ("name", Type::Text),
    ("data", Type::Texts),
    ("notification", Type::Object(&[("title", Type::Text), ("body", Type::Text), ("image", Type::Text)])),
    ("android", Type::Object(ANDROID)),
    ("webpush", Type::Object(WEBPUSH)),
    ("apns", Type::Object(APNS)),
    ("fcm_options", Type::Object(LABEL)),
    ("token", Type::Text),
    ("fid", Type::Text),
    ("topic", Type::Text),
    ("condition", Type::Text),
];

const LABEL: Fields = &[("analytics_label", Type::Text)];

const ANDROID: Fields = &[
    ("collapse_key", Type::Text),
    ("priority", Type::Word(&["NORMAL", "HIGH", "normal", "high"])),
    ("ttl", Type::Duration),
    ("restricted_package_name", Type::Text),
    ("data", Type::Texts),
    ("notification", Type::Object(ANDROID_NOTIFICATION)),
    ("fcm_options", Type::Object(LABEL)),
    ("direct_boot_ok", Type::Bool),
    ("bandwidth_constrained_ok", Type::Bool),
    ("restricted_satellite_ok", Type::Bool),
];

const ANDROID_NOTIFICATION: Fields = &[
    ("title", Type::Text),
    ("body", Type::Text),
    ("icon", Type::Text),
    ("color", Type::Text),
    ("sound", Type::Text),
    ("tag", Type::Text),
    ("click_action", Type::Text),
    ("body_loc_key", Type::Text),
    ("body_loc_args", Type::ListOfTexts),
    ("title_loc_key", Type::Text),
    ("title_loc_args", Type::ListOfTexts),
    ("channel_id", Type::Text),
    ("ticker", Type::Text),
    ("sticky", Type::Bool),
    ("event_time", Type::Timestamp),
    ("local_only", Type::Bool),
    (
        "notification_priority",
        Type::Word(&[
            "PRIORITY_UNSPECIFIED",
            "PRIORITY_MIN",
            "PRIORITY_LOW",
            "PRIORITY_DEFAULT",
            "PRIORITY_HIGH",
            "PRIORITY_MAX",
        ]),
    ),
    ("default_sound", Type::Bool),
    ("default_vibrate_timings", Type::Bool),
    ("default_light_settings", Type::Bool),
    ("vibrate_timings", Type::ListOfDurations),
    ("visibility", Type::Word(&["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"])),
    ("notification_count", Type::Int),
    ("light_settings", Type::Object(LIGHT)),
    ("image", Type::Text),
    ("proxy", Type::Word(&["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"])),
    ("bypass_proxy_notification", Type::Bool),
];

const LIGHT: Fields = &[
    (
        "color",
        Type::Object(&[
            ("red", Type::Number),
            ("green", Type::Number),
            ("blue", Type::Number),
            ("alpha", Type::Number),
        ]),
    ),
    ("light_on_duration", Type::Duration),
    ("light_off_duration", Type::Duration),
];

const WEBPUSH: Fields = &[
    ("headers", Type::Texts),
    ("data", Type::Texts),
    ("notification", Type::Any),
    ("fcm_options", Type::Object(&[("link", Type::Text), ("analytics_label", Type::Text)])),
];

const APNS: Fields = &[
    ("headers", Type::Texts),
    ("payload", Type::Any),
    ("fcm_options", Type::Object(&[("analytics_label", Type::Text), ("image", Type::Text)])),
    ("live_activity_token", Type::Text),
];

/// Everything that is wrong with the types of `value`, which stands at `path`.
pub(super) fn violations(value: &Value, fields: Fields, path: &str) -> Vec<Violation> {
    let Some(object) = value.as_object() else { return vec![wrong_type(path, value)] };
    let mut found = Vec::new();
    for (name, value) in object {
        let place = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match fields.iter().find(|(field, _)| name == field || *name == camel(field)) {
            None => found.push(Violation {
                field: path.to_owned(),
                description: format!(
                    "Invalid JSON payload received. Unknown name \"{name}\" at '{path}': Cannot find field."
                ),
            }),
            Some((field, _)) if name != field && object.contains_key(*field) => found.push(Violation {
                field: place.clone(),
                description: format!("Invalid JSON payload received. Field '{field}' is set twice."),
            }),
            // In the JSON of protocol buffers null is the same as nothing.
            Some(_) if value.is_null() => (),
            Some((_, kind)) => found.extend(of_type(value, *kind, &place)),
        }
    }
    found
}

fn of_type(value: &Value, kind: Type, path: &str) -> Vec<Violation> {
    let is = |fits: bool| if fits { Vec::new() } else { vec![wrong_type(path, value)] };
    let all = |fits: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(fits));
    match kind {
        Type::Text => is(value.is_string()),
        Type::Bool => is(value.is_boolean()),
        Type::Int => is(value.is_i64() || value.as_str().is_some_and(|text| text.parse::<i32>().is_ok())),
        Type::Number => is(value.is_number()),
        Type::Duration => is(seconds(value).is_some()),
        Type::Timestamp => {
            is(value.as_str().is_some_and(|text| humantime::parse_rfc3339(text).is_ok() && text.ends_with('Z')))
        }
        Type::Word(words) => is(value.as_str().is_some_and(|word| words.contains(&word))),
        Type::Texts => is(value.as_object().is_some_and(|texts| texts.values().all(Value::is_string))),
        Type::ListOfTexts => is(all(Value::is_string)),
        Type::ListOfDurations => is(all(|value| seconds(value).is_some())),
        Type::Any => is(value.is_object()),
        Type::Object(fields) => violations(value, fields, path),
    }
}

/// What a duration says.
pub(super) fn seconds(value: &Value) -> Option<f64> {
    let number = value.as_str()?.strip_suffix('s')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole.strip_prefix('-').unwrap_or(whole)) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    number.parse().ok()
}

fn wrong_type(path: &str, value: &Value) -> Violation {
    let description = format!("Invalid value at '{path}': {value}");
    Violation { field: path.to_owned(), description }
}

/// `collapse_key` is also known as `collapseKey`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}
