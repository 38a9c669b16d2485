//! Names that are easily taken for one another, or for a part of a statement: the ids of the torture are made of them.

/// The letters of the long name.
const LONG: usize = 200;

/// Each is like one of its neighbours to whoever compares carelessly: by letters of any case, without trailing spaces, in
/// a normal form, by the beginning.
const NAMES: [&str; 8] = [
    "it's \"odd\"; -- %_",
    "It's \"odd\"; -- %_",
    "it's \"odd\"; -- %_ ",
    // One letter, and then the same in two parts.
    "caf\u{e9}",
    "cafe\u{301}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd}|\u{1f980}",
    "$1 ? :id @id \\",
    "x",
];

/// Returns the name of a number: quotes, spaces, letters that are not ASCII, placeholders, or many letters.
pub(crate) fn odd_name(number: u32) -> String {
    let count = NAMES.len() as u32;
    let name = NAMES[(number % count) as usize];
    let name = match name {
        "x" => name.repeat(LONG),
        _ => name.to_owned(),
    };
    match number / count {
        0 => name,
        round => format!("{name}#{round}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_numbers_have_the_same_name() {
        let names: HashSet<_> = (0..20_000).map(odd_name).collect();
        assert_eq!(names.len(), 20_000);
    }
}
