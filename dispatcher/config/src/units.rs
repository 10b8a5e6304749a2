//! Times and sizes, written with their unit. A bare number is refused: it does not tell seconds from milliseconds.

use std::time::Duration;

use bytesize::ByteSize;

/// Units of time, the largest first, with their milliseconds.
const TIMES: [(&str, u128); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Units of size, the largest first, with their bytes.
const SIZES: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A time such as "10s", "1m 30s" or "3d".
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    if is_number(text) {
        return Err(format!("a time needs a unit: \"{text}s\" or \"{text}ms\"", text = text.trim()));
    }
    humantime::parse_duration(text).map_err(|why| why.to_string())
}

/// A size such as "64 MiB" or "500 kB".
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    if is_number(text) {
        return Err(format!("a size needs a unit: \"{text} MiB\" or \"{text} KiB\"", text = text.trim()));
    }
    text.trim().parse::<ByteSize>().map(|size| size.as_u64())
}

/// The shortest writing of a time in whole milliseconds.
pub fn format_time(time: Duration) -> String {
    let millis = time.as_millis();
    let fits = |(_, unit): &&(&str, u128)| millis >= *unit && millis.is_multiple_of(*unit);
    TIMES.iter().find(fits).map_or_else(|| "0s".to_owned(), |(name, unit)| format!("{}{name}", millis / unit))
}

/// The shortest exact writing of a size.
pub(super) fn format_size(bytes: u64) -> String {
    let fits = |(_, unit): &&(&str, u64)| bytes >= *unit && bytes.is_multiple_of(*unit);
    SIZES.iter().find(fits).map_or_else(|| "0 B".to_owned(), |(name, unit)| format!("{} {name}", bytes / unit))
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_that_was_written_is_read_as_the_same_time(millis in 0_u64..100_000_000_000) {
            let time = Duration::from_millis(millis);
            prop_assert_eq!(parse_time(&format_time(time)).unwrap(), time);
        }

        #[test]
        fn a_size_that_was_written_is_read_as_the_same_size(bytes in 0_u64..1 << 50) {
            prop_assert_eq!(parse_size(&format_size(bytes)).unwrap(), bytes);
        }

        #[test]
        fn no_text_makes_the_reading_of_units_panic(text in ".*") {
            let _ = parse_time(&text);
            let _ = parse_size(&text);
        }
    }

    #[test]
    fn whole_units_are_written_in_the_largest() {
        assert_eq!(format_time(Duration::from_hours(72)), "3d");
        assert_eq!(format_time(Duration::from_secs(90)), "90s");
        assert_eq!(format_size(64 << 20), "64 MiB");
    }

    #[test]
    fn a_bare_number_is_refused_with_the_unit_it_may_have_meant() {
        assert!(parse_time("10").unwrap_err().contains("\"10s\""));
        assert!(parse_size(" 64 ").unwrap_err().contains("\"64 MiB\""));
    }
}
