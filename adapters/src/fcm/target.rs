//! What an FCM message addresses.

/// The field of the `Message` that the target goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Token,
    Topic,
    Condition,
    Fid,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Token, Self::Topic, Self::Condition, Self::Fid];

    /// The name of the field, and the prefix in the row.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Topic => "topic",
            Self::Condition => "condition",
            Self::Fid => "fid",
        }
    }

    /// Whether it stands for one installation of an app, which can cease to exist.
    pub(super) fn is_device(self) -> bool {
        match self {
            Self::Token | Self::Fid => true,
            Self::Topic | Self::Condition => false,
        }
    }
}

/// A checked target.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub(super) kind: Kind,
    pub(super) value: &'a str,
}

impl<'a> Target<'a> {
    /// `token:…`, `topic:…`, `condition:…`, `fid:…`; anything else is a token. Tokens themselves hold colons.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let prefixed = Kind::ALL.into_iter().find_map(|kind| {
            let value = text.strip_prefix(kind.field())?.strip_prefix(':')?;
            Some((kind, value))
        });
        let (kind, value) = prefixed.unwrap_or((Kind::Token, text));
        match kind {
            Kind::Token | Kind::Fid => device(kind, value),
            Kind::Topic => topic(value),
            Kind::Condition if value.trim().is_empty() => {
                Err("the condition is empty: write condition:'a' in topics".to_owned())
            }
            Kind::Condition => Ok(Self { kind, value }),
        }
    }
}

fn device(kind: Kind, value: &str) -> Result<Target<'_>, String> {
    if value.starts_with("/topics/") {
        Err("the target is a topic written as a token: write topic:NAME".to_owned())
    } else if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        Err(format!("the target is not a {}: it is empty, or holds spaces or other foreign characters", kind.field()))
    } else {
        Ok(Target { kind, value })
    }
}

/// <https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages#Message>
fn topic(value: &str) -> Result<Target<'_>, String> {
    let value = value.strip_prefix("/topics/").unwrap_or(value);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte);
    if value.is_empty() || !value.bytes().all(allowed) {
        return Err("the topic is not a topic's name: use letters, digits and - _ . ~ %".to_owned());
    }
    Ok(Target { kind: Kind::Topic, value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_kind_of_target_is_understood() {
        for (text, kind, value) in [
            ("token:abc", Kind::Token, "abc"),
            ("cXyz:APA91b-_x", Kind::Token, "cXyz:APA91b-_x"),
            ("topic:news", Kind::Topic, "news"),
            ("topic:/topics/a-Z_0.9~%", Kind::Topic, "a-Z_0.9~%"),
            ("condition:'a' in topics && 'b' in topics", Kind::Condition, "'a' in topics && 'b' in topics"),
            ("fid:cde", Kind::Fid, "cde"),
        ] {
            assert_eq!(Target::parse(text), Ok(Target { kind, value }), "{text}");
        }
    }

    #[test]
    fn a_target_that_cannot_be_one_is_refused() {
        for text in [
            "",
            "token:",
            "a b",
            "a\nb",
            "töken",
            "topic:",
            "topic:a b",
            "topic:/topics/",
            "topic:ä",
            "condition: ",
            "/topics/news",
        ] {
            assert!(Target::parse(text).is_err(), "{text:?} must be refused");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_row_says_a_target_is_a_part_of_it_that_fits_into_a_request(text in "(token:|topic:|fid:|condition:)?\\PC{0,40}|.*") {
            if let Ok(Target { kind, value }) = Target::parse(&text) {
                prop_assert!(text.ends_with(value) && !value.is_empty());
                prop_assert!(kind == Kind::Condition || value.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
