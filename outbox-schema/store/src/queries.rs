//! The statements of the store: `queries/DIALECT/SUBJECT.sql`. The scripts of the tables lie in `outbox-schema`.

outbox_schema::files! {
    "postgres": "alerts" "checks" "destinations" "due" "failover" "figures" "jobs" "migrate" "poller" "recurring" "retention";
    "mysql": "alerts" "checks" "destinations" "due" "failover" "figures" "jobs" "migrate" "poller" "recurring" "retention";
    "sqlite": "alerts" "checks" "destinations" "due" "failover" "figures" "jobs" "migrate" "poller" "recurring" "retention";
}

/// The text of a file of `outbox-schema`, without its ending.
macro_rules! sql_file {
    ($($part:expr),+) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $($part,)+ ".sql"))
    };
}

/// The three texts of `FOLDER/DIALECT/NAME.sql`.
macro_rules! dialects {
    ($folder:literal, $name:literal) => {
        $crate::statement::Statement {
            postgres: sql_file!($folder, "/postgres/", $name),
            mysql: sql_file!($folder, "/mysql/", $name),
            sqlite: sql_file!($folder, "/sqlite/", $name),
        }
    };
}

/// A statement of a step that PostgreSQL has in a function: `"SUBJECT/NAME"`.
macro_rules! step {
    ($name:literal) => {
        $crate::statement::Statement {
            postgres: $crate::statement::IN_A_FUNCTION,
            mysql: query!(concat!("mysql/", $name)),
            sqlite: query!(concat!("sqlite/", $name)),
        }
    };
}

/// A statement in three dialects: `"SUBJECT/NAME"`, or two of which the second goes on where the first ends.
#[macro_export]
macro_rules! statement {
    ($($name:literal),+) => {
        $crate::statement::Statement {
            postgres: $crate::query!($(concat!("postgres/", $name)),+),
            mysql: $crate::query!($(concat!("mysql/", $name)),+),
            sqlite: $crate::query!($(concat!("sqlite/", $name)),+),
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_second_of_two_goes_on_where_the_first_ends() {
        let (shown, look) = (query!("mysql/due/shown"), query!("mysql/due/look"));
        assert_eq!(query!("mysql/due/shown", "mysql/due/look"), format!("{shown}{look}"));
        assert!(shown.ends_with('\n'), "{shown}");
    }
}
