//! Recurring messages of the settings.
#![allow(clippy::unwrap_used)]

use super::{from_file, load};
use crate::recurring::Missed;

const CHANNEL: &str = "[channels.http]\nkind = \"http\"\nmax_message_bytes = \"1 KiB\"\n";

#[test]
fn everything_a_recurring_message_has_is_read() {
    let config = from_file(&format!(
        "{CHANNEL}[recurring.todo]\ncron = \"0 21 * * *\"\ntimezone = \"Europe/Berlin\"\nchannel = \"http\"\n\
         target = \"https://shop.example/jobs\"\npayload = '{{\"job\":\"todo\"}}'\nheaders = {{ X-Job = \"todo\" }}\n\
         tenant = \"shop\"\ntags = {{ job = \"todo\" }}\nordering_key = \"todo\"\nmissed = \"all\""
    ));
    let todo = &config.recurring["todo"];
    assert_eq!(
        (todo.timetable.pattern(), todo.timetable.zone(), todo.missed),
        ("0 21 * * *", "Europe/Berlin", Missed::All)
    );
    let expected = outbox_schema::NewMessage::new("http", "https://shop.example/jobs", "{\"job\":\"todo\"}");
    let expected = expected.header("X-Job", "todo").tenant("shop").tag("job", "todo").ordering_key("todo");
    assert!(todo.message == expected, "{:?}", todo.message);
    let shown = config.to_toml();
    assert!(
        shown.contains("[recurring.todo]\n") && !shown.contains("shop.example") && !shown.contains("\\\"job\\\""),
        "{shown}"
    );
}

#[test]
fn the_environment_can_say_what_recurs() {
    let file = format!("{CHANNEL}[recurring.to-do]\nchannel = \"http\"\ntarget = \"https://shop.example\"\n");
    let config = load(&file, &[("OUTBOX_RECURRING__TO_DO__CRON", "@hourly")], &[]).unwrap();
    assert_eq!(config.recurring["to-do"].timetable.pattern(), "@hourly");
}

#[test]
fn a_message_that_its_channel_would_not_take_is_refused() {
    let payload = "x".repeat(2048);
    let file = format!(
        "{CHANNEL}[recurring.todo]\ncron = \"@daily\"\nchannel = \"http\"\ntarget = \"https://shop.example\"\npayload = '\"{payload}\"'"
    );
    let refused = load(&file, &[], &[]).unwrap_err().to_string();
    assert!(refused.contains("recurring.todo.payload = \"***\"") && refused.contains("takes 1 KiB"), "{refused}");
}

#[test]
fn a_wrong_channel_is_told_once_and_not_by_what_recurs_on_it() {
    let file = "[channels.hook]\nkind = \"http\"\ntimeout = 7\n[recurring.todo]\ncron = \"@daily\"\nchannel = \"hook\"\n\
                target = \"https://shop.example\"";
    assert_eq!(load(file, &[], &[]).unwrap_err().problems.len(), 1);
}
