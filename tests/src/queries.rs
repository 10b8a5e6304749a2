//! The statements of `queries/DIALECT/SUBJECT.sql`, as the files have them.

/// The folders of these files.
pub const FOLDERS: [&str; 3] = ["outbox-schema/queries", "outbox-schema/store/queries", "outbox-schema/desk/queries"];

/// The names and texts of a file, in its order.
pub fn statements(file: &str) -> Vec<(String, String)> {
    let lines = format!("\n{file}");
    let found = lines.split("\n-- name: ").skip(1).filter_map(|statement| statement.split_once('\n'));
    found.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// The text of `DIALECT/SUBJECT/NAME`.
pub fn query(path: &str) -> String {
    let (file, name) = path.rsplit_once('/').unwrap();
    let files = FOLDERS.map(|folder| format!("{}/../{folder}/{file}.sql", env!("CARGO_MANIFEST_DIR")));
    let found = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
    let statements = statements(&found.unwrap_or_else(|| panic!("no file of {path}")));
    statements.into_iter().find(|(found, _)| found == name).unwrap_or_else(|| panic!("no statement {path}")).1
}
