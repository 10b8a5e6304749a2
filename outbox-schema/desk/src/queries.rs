//! The statements of the desk: `queries/DIALECT/SUBJECT.sql`.

outbox_schema::files! {
    "postgres": "desk" "operations";
    "mysql": "desk" "operations";
    "sqlite": "desk" "operations";
}
