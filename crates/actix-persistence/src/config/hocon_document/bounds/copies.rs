//! The size to which substitutions can expand a HOCON text.

/// The most bytes that a text and its copies may have.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The substitutions of a text, each of which copies what it names, with the copies in it.
///
/// A value that one substitution names is there once more. Where several lead to it, each may lead through the others,
/// as with `b = ${a}${a}` and `c = ${b}${b}`: each of those is taken to double the whole text.
pub(super) struct Copies {
    text_bytes: usize,
    targets: Vec<Target>,
}

struct Target {
    keys: Vec<String>,
    /// True if another target copies the same value, a value within it, or a value that it is within.
    is_shared: bool,
}

impl Copies {
    /// Returns no copies yet, for a text of this length.
    pub(super) fn of(text_bytes: usize) -> Self {
        Self {
            text_bytes,
            targets: Vec::new(),
        }
    }

    /// Adds a substitution; `inner` begins after its brace.
    pub(super) fn add(&mut self, inner: &str) {
        let mut added = Target {
            keys: keys(inner),
            is_shared: false,
        };
        for other in &mut self.targets {
            if added.overlaps(other) {
                added.is_shared = true;
                other.is_shared = true;
            }
        }
        self.targets.push(added);
    }

    /// Returns whether the text may become larger than what is read.
    pub(super) fn are_too_large(&self) -> bool {
        let shared = self.targets.iter().filter(|target| target.is_shared);
        let doublings = u32::try_from(shared.count()).unwrap_or(u32::MAX);
        let times = 1_usize.checked_shl(doublings).unwrap_or(usize::MAX);
        doublings > 0 && self.text_bytes.saturating_mul(times) > MAX_BYTES
    }
}

impl Target {
    fn overlaps(&self, other: &Self) -> bool {
        self.keys.starts_with(&other.keys) || other.keys.starts_with(&self.keys)
    }
}

/// The keys of a path, without what may be written around them: two paths to one value have the same keys, or the
/// beginning of them.
fn keys(inner: &str) -> Vec<String> {
    let end = inner.find('}').unwrap_or(inner.len());
    let path = &inner[..end];
    if path.contains('\\') {
        // An escaped letter may make it any path.
        return Vec::new();
    }
    let path = path.trim_start_matches('?');
    let key = |key: &str| key.replace(|c: char| c == '"' || c.is_whitespace(), "");
    path.split('.').map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_too_large(text_bytes: usize, targets: &[&str]) -> bool {
        let mut copies = Copies::of(text_bytes);
        for target in targets {
            copies.add(&format!("{target}}} and more"));
        }
        copies.are_too_large()
    }

    #[test]
    fn values_that_one_substitution_names_are_copied_once() {
        let targets: Vec<_> = (0..256).map(|n| format!("?a.b{n}")).collect();
        let targets: Vec<_> = targets.iter().map(String::as_str).collect();
        assert!(!are_too_large(1024 * 1024, &targets));
    }

    #[test]
    fn each_further_substitution_of_a_value_doubles_the_text() {
        assert!(!are_too_large(1024, &["a"; 16]));
        assert!(are_too_large(1024, &["a"; 17]));
        assert!(are_too_large(1, &["a"; 256]));
        assert!(!are_too_large(MAX_BYTES / 4, &["a"; 2]));
        assert!(are_too_large(MAX_BYTES / 4 + 1, &["a"; 2]));
    }

    #[test]
    fn a_value_is_the_same_however_its_path_is_written() {
        let bytes = MAX_BYTES / 2;
        for same in [
            ["a.b", "?a.b"],
            ["a.b", "\"a\" . b"],
            ["a.b", "a"],
            ["a.b.c", "a.b"],
            ["a", "\"\\u0061\""],
            ["\"a}b\"", "\"a}b\".c"],
        ] {
            assert!(are_too_large(bytes, &same), "{same:?}");
        }
        assert!(!are_too_large(bytes, &["a.b", "a.bc"]));
    }
}
