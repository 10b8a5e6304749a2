//! What a setting may be, in words.

use outbox_adapters::shape::Shape;

use super::units::{format_size, format_time};

const AUTH: &str = "one of { bearer = SECRET }, { basic = { user = \"me\", password = SECRET } } or \
    { header = { name = \"X-Api-Key\", value = SECRET } }, where SECRET is a text, { env = \"NAME\" } or { file = \"PATH\" }";

/// What is allowed, for whoever wrote something else.
pub(super) fn allowed(shape: Shape) -> String {
    match shape {
        Shape::Flag => "true or false".to_owned(),
        Shape::Word(words) => one_of(words),
        Shape::Whole(low, high) => format!("a whole number from {low} to {high}"),
        Shape::Number(low, high, of_what) => format!("a number from {low} to {high}{of_what}"),
        Shape::Time(low, high) => {
            format!("a time from {} to {}, written like \"30s\"", format_time(low), format_time(high))
        }
        Shape::TimeOr { range: (low, high), none, like } => {
            let (low, high) = (format_time(low), format_time(high));
            format!("a time from {low} to {high}, written like \"{like}\", or \"{none}\"")
        }
        Shape::Size(low, high) => {
            format!("a size from {} to {}, written like \"64 MiB\"", format_size(low), format_size(high))
        }
        Shape::Text(text) | Shape::SecretUrl(text) => text.allowed.to_owned(),
        Shape::File => "the path of a file".to_owned(),
        Shape::Token => "a text of visible ASCII characters without spaces".to_owned(),
        Shape::List { allowed, .. } | Shape::Secrets { allowed } => allowed.to_owned(),
        Shape::Auth => AUTH.to_owned(),
        Shape::Headers => "a table of texts, such as { \"X-Source\" = \"shop\" }".to_owned(),
        Shape::Outcome => "{ channel = \"NAME\", target = \"TARGET\" }".to_owned(),
    }
}

/// What is allowed, for the description of the setting. None where its meaning says so.
pub(super) fn documented(shape: Shape) -> Option<String> {
    match shape {
        Shape::File | Shape::Token | Shape::Secrets { .. } | Shape::Auth | Shape::Headers | Shape::Outcome => None,
        Shape::Text(text) if text.is_told => None,
        // How it is written is the same everywhere.
        Shape::Time(..) | Shape::Size(..) => allowed(shape).split(", written like").next().map(str::to_owned),
        Shape::Flag
        | Shape::Word(_)
        | Shape::Whole(..)
        | Shape::Number(..)
        | Shape::TimeOr { .. }
        | Shape::Text(_)
        | Shape::SecretUrl(_)
        | Shape::List { .. } => Some(allowed(shape)),
    }
}

/// The choices in words: `"a", "b" or "c"`.
fn one_of(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
