//! Mistakes that a payload shows: JSON that was encoded twice, and numbers that were rounded.

/// Whether the payload is a JSON string that holds a JSON object or array. Either the application encoded it twice, or
/// it means a text. The check `outbox_payload_encoded_twice` of the tables refuses such a row at its insert.
pub fn is_encoded_twice(payload: &str) -> bool {
    payload.starts_with('"')
        && serde_json::from_str::<String>(payload)
            .is_ok_and(|text| text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with(['{', '[']))
}

/// Whether a number of the payload has as many digits as a 64-bit float can hold, and a fraction or an exponent. MySQL
/// keeps the numbers of JSON in 64 bits, so the application may have written another number.
pub fn may_be_rounded(payload: &str) -> bool {
    let mut in_string = false;
    let mut escaped = false;
    let (mut digits, mut float) = (0_u32, false);
    for byte in payload.bytes() {
        if in_string {
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' | b'e' | b'E' if digits > 0 => float = true,
            b'-' | b'+' if float => {}
            _ => {
                if float && digits >= FLOAT_DIGITS {
                    return true;
                }
                (digits, float) = (0, false);
                in_string = byte == b'"';
            }
        }
    }
    float && digits >= FLOAT_DIGITS
}

/// A 64-bit float is sure of 15 decimal digits. A number with this many digits may stand for others.
const FLOAT_DIGITS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_that_holds_an_object_or_an_array_is_encoded_twice() {
        for payload in [r#""{\"a\": 1}""#, r#""[1]""#, r#"" \n{}""#, r#""\u007b""#] {
            assert!(is_encoded_twice(payload), "{payload}");
        }
        for payload in [r#"{"a": "{}"}"#, r#""hello""#, r#""""#, "1", "null", r#"["{"]"#, r#""5 {""#] {
            assert!(!is_encoded_twice(payload), "{payload}");
        }
    }

    #[test]
    fn a_float_of_sixteen_digits_may_have_been_another_number() {
        for payload in ["1.2345678901234568e22", r#"{"a": 12345678901234.56}"#, r#"["\"", 0.1234567890123456]"#] {
            assert!(may_be_rounded(payload), "{payload}");
        }
        for payload in
            ["12345678901234567890", r#"{"a": "1.2345678901234568e22"}"#, "1.5", r#"["\\", 1.5]"#, "1e22", "-1.5e-3"]
        {
            assert!(!may_be_rounded(payload), "{payload}");
        }
    }
}
