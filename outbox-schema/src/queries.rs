//! SQL in files: `queries/DIALECT/SUBJECT/NAME.sql`, and `migrations/DIALECT/NAME.sql`.

/// The text of one file of this package, without its ending.
macro_rules! sql_file {
    ($($part:expr),+) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $($part,)+ ".sql"))
    };
}

/// The text of `queries/DIALECT/SUBJECT/NAME.sql`, for `"DIALECT/SUBJECT/NAME"`.
macro_rules! query {
    ($name:literal) => {
        sql_file!("queries/", $name)
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
            mysql: sql_file!("queries/mysql/", $name),
            sqlite: sql_file!("queries/sqlite/", $name),
        }
    };
}

/// A statement in three dialects: `"SUBJECT/NAME"`, or two files of which the second goes on where the first ends.
macro_rules! statement {
    ($name:literal) => {
        dialects!("queries", $name)
    };
    ($name:literal, $rest:literal) => {
        $crate::statement::Statement {
            postgres: concat!(sql_file!("queries/postgres/", $name), sql_file!("queries/postgres/", $rest)),
            mysql: concat!(sql_file!("queries/mysql/", $name), sql_file!("queries/mysql/", $rest)),
            sqlite: concat!(sql_file!("queries/sqlite/", $name), sql_file!("queries/sqlite/", $rest)),
        }
    };
}
