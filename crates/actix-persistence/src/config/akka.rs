//! Keys of Akka's config that have no meaning here.

use actix_persistence_storage_api::Section;

const MEANINGLESS: [(&str, &str); 5] = [
    ("class", "'kind' chooses the plugin"),
    ("plugin-dispatcher", "stores have threads of their own"),
    ("replay-dispatcher", "stores have threads of their own"),
    ("stream-dispatcher", "stores have threads of their own"),
    (
        "max-message-batch-size",
        "whatever waits is written together, as far as the plugin can take it",
    ),
];

/// Takes the keys without meaning out of a section, and gives a warning for each that names what there is instead.
pub(super) fn take_meaningless(section: &mut Section, warnings: &mut Vec<String>) {
    for (key, instead) in MEANINGLESS {
        if let Some(item) = section.remove(key) {
            let path = section.path_of(key);
            warnings.push(format!(
                "{}: '{path}' has no meaning here and is ignored; {instead}",
                item.origin
            ));
        }
    }
}
