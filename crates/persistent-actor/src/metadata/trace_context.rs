//! The rules of the W3C for the two fields of a trace context.

use crate::InvalidMetadata;

/// The lengths of the parts of `traceparent`: version, trace, parent, flags.
const PARTS: [usize; 4] = [2, 32, 16, 2];
/// The length of `traceparent` of version 00; those of later versions begin in the same way.
const PARENT_BYTES: usize = 55;
/// The most members of `tracestate`.
const MAX_MEMBERS: usize = 32;
/// The most characters of a key and of a value in `tracestate`.
const MAX_MEMBER_PART: usize = 256;

/// Fails if a text is no field `traceparent`: `00-<trace>-<parent>-<flags>` in lower-case hexadecimal digits.
pub(super) fn check_parent(text: &str) -> Result<(), InvalidMetadata> {
    let fails = |reason| {
        let field = "traceparent";
        Err(InvalidMetadata::TraceContext { field, reason })
    };
    let mut parts = text.splitn(PARTS.len() + 1, '-');
    let mut next = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        part.bytes().all(is_hex).then_some(part)
    };
    let [Some(version), Some(trace), Some(parent), Some(_)] = PARTS.map(&mut next) else {
        return fails("it is not four groups of 2, 32, 16 and 2 lower-case hexadecimal digits");
    };
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    match version {
        "ff" => fails("there is no version ff"),
        "00" if text.len() > PARENT_BYTES => fails("version 00 has nothing after the flags"),
        _ if is_zero(trace) => fails("the id of its trace is zero"),
        _ if is_zero(parent) => fails("the id of its parent is zero"),
        _ => Ok(()),
    }
}

/// Fails if a text is no field `tracestate`: up to 32 members `key=value`, separated by commas.
pub(super) fn check_state(text: &str) -> Result<(), InvalidMetadata> {
    let fails = |reason| {
        let field = "tracestate";
        Err(InvalidMetadata::TraceContext { field, reason })
    };
    let members = text
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']));
    let mut count = 0;
    for member in members.filter(|member| !member.is_empty()) {
        count += 1;
        match member.split_once('=') {
            Some((key, value)) if is_key(key) && is_value(value) => {}
            _ => return fails("a member of it is not a key and a value"),
        }
    }
    match count {
        0 => fails("it has no member"),
        1..=MAX_MEMBERS => Ok(()),
        _ => fails("it has more than 32 members"),
    }
}

fn is_key(text: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_next = |byte: u8| is_first(&byte) || b"_-*/@".contains(&byte);
    text.len() <= MAX_MEMBER_PART
        && text.as_bytes().first().is_some_and(is_first)
        && text.bytes().all(is_next)
}

fn is_value(text: &str) -> bool {
    let is_part = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b',' && byte != b'=';
    (1..=MAX_MEMBER_PART).contains(&text.len()) && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";

    #[test]
    fn a_traceparent_is_as_the_w3c_has_it() {
        let zeros = "0".repeat(32);
        let good = [
            format!("00-{TRACE}-{PARENT}-01"),
            format!("00-{TRACE}-{PARENT}-ff"),
            format!("01-{TRACE}-{PARENT}-01"),
            format!("cc-{TRACE}-{PARENT}-01-what-is-to-come"),
        ];
        for text in good {
            assert_eq!(check_parent(&text), Ok(()), "{text}");
        }
        let bad = [
            String::new(),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}-{PARENT}-1"),
            format!("00-{TRACE}-{PARENT}-01-"),
            format!("00-{TRACE}-{PARENT}-01-more"),
            format!("01-{TRACE}-{PARENT}-01more"),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("0-{TRACE}-{PARENT}-01"),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{zeros}-{PARENT}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{TRACE}x-{PARENT}-01"),
            format!("00-{TRACE}-{PARENT}-0ä"),
            format!("00_{TRACE}_{PARENT}_01"),
        ];
        for text in bad {
            assert!(check_parent(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_tracestate_is_as_the_w3c_has_it() {
        let many = |count: usize| vec!["a=1"; count].join(",");
        let good = [
            "a=1",
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
            "tenant@system=x y!, 0a/b*c-d_e=~ ,,",
            &many(32),
            &format!("{}={}", "k".repeat(256), "v".repeat(256)),
        ];
        for text in good {
            assert_eq!(check_state(text), Ok(()), "{text}");
        }
        let bad = [
            "",
            " , ",
            "a",
            "=1",
            "a=",
            "A=1",
            "_a=1",
            "a=b=c",
            "a=ä",
            "a=1\n",
            "a b=1",
            &many(33),
            &format!("{}=1", "k".repeat(257)),
            &format!("a={}", "v".repeat(257)),
        ];
        for text in bad {
            assert!(check_state(text).is_err(), "{text}");
        }
    }
}
