//! The name that the writer of a config probably meant.

/// Returns the known name that `name` is most likely a misspelling of, if one is near enough.
///
/// Near means that at most a quarter of the letters of `name` (at least one) are wrong, missing, too many or swapped with
/// their neighbour; upper and lower case, `-` and `_` count as the same. Of several equally near ones it is the first.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let letters = simplified(name);
    let allowed = (letters.len() / 4).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(&letters, &simplified(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn simplified(name: &str) -> Vec<char> {
    name.chars()
        .map(|c| {
            if c == '_' {
                '-'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

/// Returns the number of letters to change, add, remove or swap with their neighbour (optimal string alignment).
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, &a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in to.iter().enumerate() {
            let substituted = last[j] + usize::from(a != b);
            let mut cost = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a == to[j - 1] && from[i - 1] == b {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_nothing_far_away() {
        let known = ["max-failures", "call-timeout", "reset-timeout", "url"];
        let cases = [
            ("max-falures", Some("max-failures")),
            ("max_failures", Some("max-failures")),
            ("Max-Failures", Some("max-failures")),
            ("call-timoeut", Some("call-timeout")),
            ("ulr", Some("url")),
            ("uri", Some("url")),
            ("", None),
            ("xyz", None),
            ("timeout", None),
            ("busy-timeout", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, known), expected, "{name:?}");
        }
    }

    #[test]
    fn counts_wrong_missing_added_and_swapped_letters() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let cases = [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "xc", 2),
            ("kitten", "sitting", 3),
        ];
        for (from, to, expected) in cases {
            assert_eq!(distance(&chars(from), &chars(to)), expected, "{from} {to}");
            assert_eq!(distance(&chars(to), &chars(from)), expected, "{to} {from}");
        }
    }
}
