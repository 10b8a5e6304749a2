//! The target of an FCM message.

use std::fmt;

use crate::origin::column;

/// The target of an FCM message: <https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages#Message>.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FcmTarget {
    /// The registration token of one installation of an app.
    Token(String),
    /// All installations that have subscribed to a topic.
    Topic(String),
    /// A condition over topics: `'sport' in topics && 'news' in topics`.
    Condition(String),
    /// The Firebase installation id of one installation of an app.
    Fid(String),
}

impl FcmTarget {
    /// The fields of the `Message` that a target goes into: the kinds of targets.
    pub const FIELDS: [&str; 4] = ["token", "topic", "condition", "fid"];

    /// Reads the `target` column of a row: `token:…`, `topic:…`, `condition:…` or `fid:…`. Any other text is a token,
    /// since tokens contain colons.
    ///
    /// # Errors
    /// What is wrong with the target, and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        // The table counts it for the server of that URL.
        if column(text).is_some() {
            return Err("the target is a URL, and FCM takes none: write token:TOKEN or topic:NAME".to_owned());
        }
        let prefixed = Self::FIELDS.into_iter().find_map(|field| {
            let value = text.strip_prefix(field)?.strip_prefix(':')?;
            Some((field, value))
        });
        match prefixed.unwrap_or(("token", text)) {
            ("topic", value) => topic(value).map(Self::Topic),
            ("condition", value) if value.trim().is_empty() => {
                Err("the condition is empty: write condition:'a' in topics".to_owned())
            }
            ("condition", value) => Ok(Self::Condition(value.to_owned())),
            ("fid", value) => device("fid", value).map(Self::Fid),
            (_, value) => device("token", value).map(Self::Token),
        }
    }

    /// The field of the `Message` for this target, which is also the prefix in the row.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::Topic(_) => "topic",
            Self::Condition(_) => "condition",
            Self::Fid(_) => "fid",
        }
    }

    /// The value of that field.
    pub fn value(&self) -> &str {
        match self {
            Self::Topic(topic) => topic.strip_prefix("/topics/").unwrap_or(topic),
            Self::Token(value) | Self::Condition(value) | Self::Fid(value) => value,
        }
    }

    /// Whether the target is one installation of an app, which can cease to exist.
    pub fn is_device(&self) -> bool {
        match self {
            Self::Token(_) | Self::Fid(_) => true,
            Self::Topic(_) | Self::Condition(_) => false,
        }
    }
}

impl fmt::Display for FcmTarget {
    /// The text of the `target` column.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.field(), self.value())
    }
}

fn device(field: &str, value: &str) -> Result<String, String> {
    if value.starts_with("/topics/") {
        Err("the target is a topic written as a token: write topic:NAME".to_owned())
    } else if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
        Err(format!("the target is not a {field}: it is empty, or holds spaces or other foreign characters"))
    } else {
        Ok(value.to_owned())
    }
}

fn topic(value: &str) -> Result<String, String> {
    let value = value.strip_prefix("/topics/").unwrap_or(value);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte);
    if value.is_empty() || !value.bytes().all(allowed) {
        return Err("the topic is not a topic's name: use letters, digits and - _ . ~ %".to_owned());
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_url_is_no_target_since_the_table_counts_it_for_another_server() {
        for url in ["http://shop.example/x", "HTTPS://shop.example"] {
            assert!(FcmTarget::parse(url).is_err_and(|problem| problem.contains("is a URL")), "{url}");
        }
    }

    #[test]
    fn each_kind_of_target_is_understood() {
        for (text, target) in [
            ("token:abc", FcmTarget::Token("abc".to_owned())),
            ("cXyz:APA91b-_x", FcmTarget::Token("cXyz:APA91b-_x".to_owned())),
            ("topic:news", FcmTarget::Topic("news".to_owned())),
            ("topic:/topics/a-Z_0.9~%", FcmTarget::Topic("a-Z_0.9~%".to_owned())),
            (
                "condition:'a' in topics && 'b' in topics",
                FcmTarget::Condition("'a' in topics && 'b' in topics".to_owned()),
            ),
            ("fid:cde", FcmTarget::Fid("cde".to_owned())),
        ] {
            assert_eq!(FcmTarget::parse(text), Ok(target), "{text}");
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
            assert!(FcmTarget::parse(text).is_err(), "{text:?} must be refused");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_row_says_a_target_is_a_part_of_it_that_fits_into_a_request(text in "(token:|topic:|fid:|condition:)?\\PC{0,40}|.*") {
            if let Ok(target) = FcmTarget::parse(&text) {
                let value = target.value();
                prop_assert!(text.ends_with(value) && !value.is_empty());
                let graphic = value.bytes().all(|byte| byte.is_ascii_graphic());
                prop_assert!(graphic || matches!(target, FcmTarget::Condition(_)));
            }
        }

        #[test]
        fn a_target_is_written_to_a_row_and_read_from_it_again(text in "(token:|topic:|fid:|condition:)?[!-~]{1,40}") {
            if let Ok(target) = FcmTarget::parse(&text) {
                prop_assert_eq!(FcmTarget::parse(&target.to_string()), Ok(target));
            }
        }
    }
}
