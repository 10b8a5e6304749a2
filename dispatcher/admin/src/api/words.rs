//! What Rust's parsers say, in words for people.

/// What Rust's parsers say, in words for people.
pub(super) fn in_words(error: &str) -> String {
    const NUMBERS: [&str; 4] = [
        "invalid digit found in string",
        "cannot parse integer from empty string",
        "number too large to fit in target type",
        "number too small to fit in target type",
    ];
    const BODIES: [(&str, &str); 2] = [
        ("Failed to deserialize the JSON body into the target type: ", "in the JSON: "),
        ("Failed to parse the request body as JSON: ", "the body is not JSON: "),
    ];
    let mut words = error.replace(", there are no fields", ": this page has no filter");
    for (said, meant) in BODIES {
        words = words.replace(said, meant);
    }
    for said in NUMBERS {
        words = words.replace(said, "it must be a whole number that is not too large");
    }
    let Some((before, rest)) = words.split_once("unknown variant ") else { return words };
    let Some((value, expected)) = rest.split_once(", expected ") else { return words };
    format!("{before}{value} is not known; it must be {}", each_once(expected))
}

/// What is expected, each word of it once: many are read in upper and in lower case.
pub(super) fn each_once(expected: &str) -> String {
    let Some(all) = expected.strip_prefix("one of ") else { return expected.to_owned() };
    let (mut once, mut after_last): (Vec<&str>, _) = (Vec::new(), "");
    for word in all.split(", ") {
        // The place of the error may stand behind the last word.
        let (word, rest) = word.rfind('`').map_or((word, ""), |end| word.split_at(end + 1));
        after_last = rest;
        if !once.iter().any(|said| said.eq_ignore_ascii_case(word)) {
            once.push(word);
        }
    }
    format!("one of {}{after_last}", once.join(", "))
}
