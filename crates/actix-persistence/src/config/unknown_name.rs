//! The wording of messages about an unknown name.

use actix_persistence_storage_api::nearest;

/// Continues the name of a key: its value should be a name out of a list, and is not.
pub(super) fn unknown_name(what: &str, name: &str, known: &[&str]) -> String {
    let alternatives = known_names(what, name, known);
    // A long text, or one with user info, may be a secret put in the wrong place.
    if name.len() > 40 || name.contains('@') {
        return format!("names an unknown {what}; {alternatives}");
    }
    format!("names the unknown {what} {name:?}; {alternatives}")
}

/// Returns the hint that names what exists.
pub(super) fn known_names(what: &str, name: &str, known: &[&str]) -> String {
    let mut known = known.to_vec();
    known.sort_unstable();
    let guess = match nearest(name, known.iter().copied()) {
        Some(guess) => format!("did you mean {guess:?}? "),
        None => String::new(),
    };
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    format!("{guess}known {what}s: {known}")
}
