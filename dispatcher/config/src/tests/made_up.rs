//! A kind of channel that only this file knows: what it says of itself is all that the settings need.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_adapters::shape::{Shape, Text, words};
use outbox_adapters::{Adapter, Answer, ChannelSettings, ChannelSetup, Delivery, KINDS, Kind, SetupError};

use super::sources;
use crate::documented::tables;
use crate::known::Known;
use crate::{Config, ConfigError, schema};

/// Channels that write on a blackboard.
const KIND: Kind = Kind {
    name: "chalk",
    defaults: "# One deadline for a whole sentence.\ntimeout = \"2s\"\n\
        # The room with the blackboard.\nroom = \"\"\n\
        # What it is written with.\ncolour = \"white\"\n\
        # What opens the door.\npassword = \"\"\n",
    shapes: &[
        ("timeout", Shape::Time(Duration::from_secs(1), Duration::from_secs(9))),
        (
            "room",
            Shape::Text(Text::new("a number of a room", |room| {
                room.parse::<u16>().map(drop).map_err(|_| String::new())
            })),
        ),
        ("colour", Shape::Word(&const { words(&COLOURS) })),
        ("password", Shape::Token),
    ],
    read: |values| {
        let (room, colour) = (values.text("room")?.to_owned(), values.word("colour", &COLOURS)?);
        if room == "13" && colour == Colour::Red {
            values.refuse("colour", "it cannot be seen in that room");
        }
        Ok(Arc::new(Chalk { room, colour }))
    },
};

const COLOURS: [(&str, Colour); 2] = [("white", Colour::White), ("red", Colour::Red)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    White,
    Red,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Chalk {
    room: String,
    colour: Colour,
}

impl ChannelSettings for Chalk {
    fn build(&self, _: &ChannelSetup<'_>) -> Result<Arc<dyn Adapter>, SetupError> {
        Ok(Arc::new(self.clone()))
    }

    fn retry_floor(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn sends_json(&self) -> bool {
        false
    }

    fn base_url(&self) -> &str {
        &self.room
    }

    fn takes_urls(&self) -> bool {
        false
    }

    fn test_payload(&self) -> &'static str {
        "{}"
    }

    fn remarks(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

#[async_trait]
impl Adapter for Chalk {
    async fn deliver(&self, _: Delivery) -> Answer {
        Answer::delivered(200, Some(self.room.clone()))
    }

    fn examine(&self, _: Delivery) -> Result<String, String> {
        Ok(String::new())
    }

    async fn check(&self) -> Result<String, String> {
        Ok(format!("there is a blackboard in {}", self.room))
    }
}

/// The settings of a program with one kind more.
fn known() -> &'static Known {
    Box::leak(Box::new(Known::new(&[KINDS, &[&KIND]].concat())))
}

fn load(file: &str) -> Result<Config, ConfigError> {
    Config::of(&sources(file, &[], &[]), known())
}

#[test]
fn a_kind_that_says_what_it_is_has_its_settings_read_and_its_channels_set_up() {
    let file = "[retry]\nmax_attempts = 3\n[channels.board]\nkind = \"chalk\"\nroom = \"7\"\npassword = \"s3cret\"\n\
                [channels.hook]\nkind = \"http\"";
    let config = load(file).unwrap();
    let board = &config.channels["board"];
    assert_eq!((board.kind, board.timeout, board.retry.max_attempts), ("chalk", Duration::from_secs(2), 3));
    let chalk: &Chalk = board.settings.downcast_ref().unwrap();
    assert_eq!(*chalk, Chalk { room: "7".to_owned(), colour: Colour::White });
    assert_eq!(board.settings.retry_floor(), Duration::from_secs(3));
    let own = config.admin.listen;
    let setup = ChannelSetup { name: "board", timeout: board.timeout, at_most_once: false, keeps_answers: false, own };
    assert!(format!("{:?}", board.settings.build(&setup).unwrap()).contains("room: \"7\""));
    let shown = format!("{} {} {config:?}", config.to_toml(), config.to_json());
    assert!(shown.contains("colour = \"white\"") && !shown.contains("s3cret"), "{shown}");
    assert_eq!(config.shared(&config).get("channels.board.password"), None, "it is a secret");
}

#[test]
fn what_is_wrong_with_a_channel_of_such_a_kind_is_told_as_of_any_other() {
    for (file, words) in [
        ("[channels.board]", "kind = \"http\" or kind = \"fcm\" or kind = \"chalk\""),
        ("[channels.board]\nkind = \"ink\"", "allowed is \"http\", \"fcm\" or \"chalk\""),
        ("[channels.board]\nkind = \"chalk\"", "channels.board.room = \"\": allowed is a number of a room"),
        ("[channels.board]\nkind = \"chalk\"\nroom = \"7\"\ntimeout = \"10s\"", "a time from 1s to 9s"),
        ("[channels.board]\nkind = \"chalk\"\nroom = \"7\"\nrooms = \"8\"", "did you mean channels.board.room?"),
        ("[channels.board]\nkind = \"chalk\"\nroom = \"13\"\ncolour = \"red\"", "it cannot be seen in that room"),
        ("[channels.a]\nkind = \"http\"\nroom = \"7\"", "is a setting of chalk channels, and this one is http"),
    ] {
        let error = load(file).unwrap_err().to_string();
        assert!(error.contains(words), "{words:?} is missing from: {error}");
    }
}

#[test]
fn such_a_kind_is_in_the_json_schema_and_in_the_description() {
    let schema = schema::of(known());
    let kinds = schema["properties"]["channels"]["additionalProperties"]["oneOf"].as_array().unwrap();
    let chalk = kinds.iter().find(|kind| kind["properties"]["kind"]["const"] == "chalk").unwrap();
    let (colour, base) = (&chalk["properties"]["colour"], &chalk["properties"]["base"]);
    assert_eq!(colour["enum"], serde_json::json!(["white", "red"]));
    assert_eq!((&colour["default"], &base["default"]), (&"white".into(), &"5s".into()));
    let tables = tables(known());
    for line in [
        "### `[channels.NAME]` with `kind = \"chalk\"`",
        "| `timeout` | `\"2s\"` | One deadline for a whole sentence. Allowed: a time from 1s to 9s. |",
        "| `colour` | `\"white\"` | What it is written with. Allowed: \"white\" or \"red\". |",
        "| `room` | none | The room with the blackboard. Allowed: a number of a room. |",
    ] {
        assert!(tables.contains(line), "{line} is missing from {tables}");
    }
}
