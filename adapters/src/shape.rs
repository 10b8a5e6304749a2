//! What a setting may be. The reader of settings, their JSON Schema and docs/settings.md are made from it.

use std::time::Duration;

/// Settings of a section: the name of each, and what it may be. Its default and its meaning stand in the default file.
pub type Shapes = &'static [(&'static str, Shape)];

/// What a setting may be. A range includes both ends.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// `true` or `false`.
    Flag,
    /// One of several words: see [`words`].
    Word(&'static [&'static str]),
    /// A whole number in this range.
    Whole(u32, u32),
    /// A number in this range, which may have a fraction; and of what it is, for whoever wrote something else.
    Number(u32, u32, &'static str),
    /// A time in this range.
    Time(Duration, Duration),
    /// A time, or a word for none.
    TimeOr {
        /// The least and the greatest time.
        range: (Duration, Duration),
        /// The word for none.
        none: &'static str,
        /// A time, for an example.
        like: &'static str,
    },
    /// A size in this range of bytes.
    Size(u64, u64),
    /// A text.
    Text(Text),
    /// The path of a file, or an empty text.
    File,
    /// A secret that a header can carry, or an empty text.
    Token,
    /// A URL that is a secret: a text, or where one is kept. It may be empty.
    SecretUrl(Text),
    /// A list of items, or a single one.
    List {
        /// What is allowed, in words.
        allowed: &'static str,
        /// What each item may be.
        item: Item,
    },
    /// A list of secrets, or a single one. Each is a text, or where one is kept.
    Secrets {
        /// What is allowed, in words.
        allowed: &'static str,
    },
    /// A table that says one way to authenticate.
    Auth,
    /// A table of headers, whose names the user chooses.
    Headers,
    /// A table that names another channel and a target of it.
    Outcome,
}

/// A text of the settings, which `check` accepts.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    /// What is allowed, in words.
    pub allowed: &'static str,
    /// Accepts a text, or says what is wrong with it. It says nothing where `allowed` says it all.
    pub check: fn(&str) -> Result<(), String>,
    /// Whether an empty text stands for none, and is not checked.
    pub or_none: bool,
    /// Whether the meaning of the setting says what is allowed, so that the description need not.
    pub is_told: bool,
    /// Whether the text is of a message, and so is not shown.
    pub is_hidden: bool,
}

impl Text {
    /// A text that `check` accepts: what `allowed` says in words.
    pub const fn new(allowed: &'static str, check: fn(&str) -> Result<(), String>) -> Self {
        Self { allowed, check, or_none: false, is_told: false, is_hidden: false }
    }

    /// The same, or an empty text.
    #[must_use]
    pub const fn or_none(self) -> Self {
        Self { or_none: true, ..self }
    }

    /// The same, where the meaning of the setting says what is allowed.
    #[must_use]
    pub const fn told(self) -> Self {
        Self { is_told: true, ..self }
    }

    /// The same, where the text is of a message, and so is not shown.
    #[must_use]
    pub const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }
}

/// What an item of a list may be. Each is read as a text.
#[derive(Debug, Clone, Copy)]
pub enum Item {
    /// A text that the function accepts.
    Text(fn(&str) -> Result<(), String>),
    /// A whole number in this range.
    Whole(u16, u16),
    /// A whole number in a range, or a text. The function accepts it, written as a text.
    Code {
        /// The least and the greatest number.
        range: (u16, u16),
        /// The texts, as a regular expression.
        pattern: &'static str,
        /// Accepts an item.
        check: fn(&str) -> Result<(), String>,
    },
}

/// The words of pairs of a word and its meaning, for [`Shape::Word`].
pub const fn words<T: Copy, const N: usize>(pairs: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = pairs[at].0;
        at += 1;
    }
    words
}
