//! A file of defaults for people: each key with its default and the comment above it.

/// A key of a file of defaults.
pub(super) struct Described {
    /// Its section. Empty for a key before the first.
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    /// The default, as TOML.
    pub(super) default: &'static str,
    pub(super) comment: String,
}

/// All keys, in the order of the file.
pub(super) fn described(file: &'static str) -> Vec<Described> {
    let (mut keys, mut section, mut comment) = (Vec::new(), "", Vec::new());
    for line in file.lines() {
        if let Some(text) = line.strip_prefix('#') {
            comment.push(text.trim());
        } else if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            comment.clear();
        } else if let Some((name, default)) = line.split_once(" = ") {
            let comment = std::mem::take(&mut comment).join(" ");
            keys.push(Described { section, name, default, comment });
        } else {
            comment.clear();
        }
    }
    keys
}
