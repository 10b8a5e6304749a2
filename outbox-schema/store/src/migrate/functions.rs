//! The functions of PostgreSQL: a set that can be applied again and again, with its own version in `outbox_meta`.
//!
//! A file of the set may change as long as a replica of the release before can go on calling the function: same name,
//! same parameters, same result. A function with other parameters gets a new name beside the old one, which goes one
//! release later.

use crate::Dialect;

/// The version of the set. Each change of a file raises it, which a test checks.
pub const FUNCTIONS_VERSION: i32 = 27;

/// The files of the set. Each function comes after those that it names.
const FUNCTIONS: [&str; 15] = [
    sql_file!("functions/postgres/outbox_fresh_plans"),
    sql_file!("functions/postgres/outbox_begin_term"),
    sql_file!("functions/postgres/outbox_require_term"),
    sql_file!("functions/postgres/outbox_cancelling"),
    sql_file!("functions/postgres/outbox_defer_unknown"),
    sql_file!("functions/postgres/outbox_claim_rows"),
    sql_file!("functions/postgres/outbox_look_and_claim"),
    sql_file!("functions/postgres/outbox_mark_delivered"),
    sql_file!("functions/postgres/outbox_mark_free"),
    sql_file!("functions/postgres/outbox_mark"),
    sql_file!("functions/postgres/outbox_settle"),
    sql_file!("functions/postgres/outbox_cancel"),
    sql_file!("functions/postgres/outbox_enqueue"),
    sql_file!("functions/postgres/outbox_outcome"),
    sql_file!("functions/postgres/outbox_job_fence"),
];

/// The set as one script. None where the database has no such functions.
pub(super) fn script(dialect: Dialect) -> Option<String> {
    match dialect {
        Dialect::Postgres => {
            let version = format!("UPDATE outbox_meta SET functions_version = {FUNCTIONS_VERSION};\n");
            Some(FUNCTIONS.join("\n") + "\n" + &version)
        }
        Dialect::MySql | Dialect::Sqlite => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::fnv;

    /// The set that has this version.
    const DIGEST: u64 = 0x553c_ca8a_a55f_5968;

    #[test]
    fn a_changed_set_has_another_version() {
        let now = fnv(&FUNCTIONS.concat());
        assert_eq!(now, DIGEST, "a function has changed: raise FUNCTIONS_VERSION, and write {now:#x} here");
    }

    #[test]
    fn each_file_makes_the_function_that_it_is_named_for() -> std::io::Result<()> {
        let mut files = 0;
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/postgres"))? {
            let path = file?.path();
            let (text, name) =
                (std::fs::read_to_string(&path)?, path.file_stem().unwrap_or_default().to_string_lossy());
            assert!(text.contains(&format!("CREATE OR REPLACE FUNCTION {name}(")), "{}", path.display());
            assert!(FUNCTIONS.contains(&text.as_str()), "{} is in no set", path.display());
            files += 1;
        }
        assert_eq!(files, FUNCTIONS.len());
        Ok(())
    }
}
