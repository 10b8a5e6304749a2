//! The default of `database.url` is for a first try: nothing to set, and an empty folder. A replica that has lost the
//! variable with its URL must not run beside its fleet on an empty file.

use std::path::Path;

use super::key::Key;
use super::problem::Problem;
use super::setting::Origin;
use super::settings::Settings;

/// Whether `database.url` is its default.
pub(super) fn is_default(settings: &Settings) -> bool {
    settings.get(&Key::dotted("database.url")).is_some_and(|setting| setting.origin == Origin::Default)
}

/// Why the default is not to be used. None where `database.url` is set, and where nothing says that this is no first try.
pub(super) fn refusal(settings: &Settings, file: Option<&Path>) -> Option<Problem> {
    if !is_default(settings) {
        return None;
    }
    let given = |key: &str| {
        let setting = settings.get(&Key::dotted(key))?;
        let is_set = setting.origin != Origin::Default && setting.value.as_str().is_some_and(|text| !text.is_empty());
        is_set.then(|| format!("{key} is set ({})", setting.origin.place().unwrap_or_default()))
    };
    let of_file = || file.map(|file| format!("there is a settings file ({})", file.display()));
    let why = given("lease.url").or_else(|| given("database.environment")).or_else(of_file)?;
    let advice = format!(
        "is not set, and its default, a file of SQLite in this folder, is for a first try only: {why}. Set it in [database] of the \
         settings file, as OUTBOX_DATABASE__URL or by --database (sqlite://outbox.db, where a file of SQLite is meant)"
    );
    Some(Problem::with_key(&Origin::Default, &Key::dotted("database.url"), advice))
}

#[cfg(test)]
mod tests {
    use crate::{Config, Sources};

    fn refused(file: Option<&str>, set: &[(&str, &str)]) -> Option<String> {
        let sources = Sources {
            file: file.map(|text| ("outbox.toml".into(), text.to_owned())),
            environment: set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            flags: Vec::new(),
        };
        let config = Config::load(&sources).expect("the settings are valid");
        config.require_database().err().map(|error| error.to_string())
    }

    #[test]
    fn the_default_database_is_for_whoever_has_set_nothing() {
        assert_eq!(refused(None, &[]), None);
        assert_eq!(refused(None, &[("OUTBOX_ADMIN__LISTEN", "127.0.0.1:0"), ("OUTBOX_LEASE__URL", "")]), None);
        for (file, set, why) in [
            (Some(""), &[][..], "there is a settings file (outbox.toml)"),
            (None, &[("OUTBOX_LEASE__URL", "redis://cache")], "lease.url is set (OUTBOX_LEASE__URL)"),
            (None, &[("OUTBOX_DATABASE__ENVIRONMENT", "production")], "database.environment is set"),
        ] {
            let error = refused(file, set).expect(why);
            for words in ["database.url is not set", why, "OUTBOX_DATABASE__URL"] {
                assert!(error.contains(words), "{words} is missing from {error}");
            }
            let url = ("OUTBOX_DATABASE__URL", "sqlite://outbox.db");
            assert_eq!(refused(file, &[set, &[url]].concat()), None, "{why}");
        }
    }

    #[test]
    fn an_empty_url_of_the_database_is_no_default() {
        let environment = vec![("OUTBOX_DATABASE__URL".to_owned(), String::new())];
        let error = Config::load(&Sources { environment, ..Sources::default() }).expect_err("a secret that is empty");
        assert!(error.to_string().contains("OUTBOX_DATABASE__URL"), "{error}");
    }
}
