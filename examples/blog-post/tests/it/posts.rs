//! The posts of a blog after some changes, in plain sequential Rust.

use std::collections::BTreeMap;

/// The posts that were ever written.
#[derive(Debug, Default)]
pub(crate) struct Posts(BTreeMap<String, Post>);

#[derive(Debug, Default)]
struct Post {
    revision: u64,
    /// The title, and whether it is published; none when it is deleted.
    now: Option<(String, bool)>,
}

/// A change of a post for `apply`; some of them are refused, because there is no such post then.
pub(crate) fn line(update: usize, post: &str, posts: usize) -> String {
    match update / posts % 10 {
        4 => format!("publish,{post}\n"),
        7 => format!("delete,{post}\n"),
        _ => format!("write,{post},Title {update},Text\n"),
    }
}

impl Posts {
    /// Makes a change, and returns what has to be answered.
    pub(crate) fn apply(&mut self, line: &str) -> String {
        let fields: Vec<_> = line.trim_end().split(',').collect();
        let (name, post) = (fields[1], self.0.entry(fields[1].to_owned()).or_default());
        let now = match (fields[0], post.now.clone()) {
            ("write", now) => Some((fields[2].to_owned(), now.is_some_and(|now| now.1))),
            (_, None) => return "refused: there is no such post".to_owned(),
            ("publish", Some((title, _))) => Some((title, true)),
            _ => None,
        };
        // A post that is published already is not stored again.
        if fields[0] != "publish" || post.now != now {
            post.revision += 1;
            post.now = now;
        }
        format!("{name}\trevision {}", post.revision)
    }

    /// Returns the text that `watch` prints after the name of each post.
    pub(crate) fn shown(&self) -> BTreeMap<String, String> {
        let stored = self.0.iter().filter(|(_, post)| post.revision > 0);
        let shown = stored.map(|(name, post)| {
            let now = match &post.now {
                None => "deleted".to_owned(),
                Some((title, false)) => format!("draft\t{title}"),
                Some((title, true)) => format!("published\t{title}"),
            };
            (name.clone(), format!("{}\t{now}", post.revision))
        });
        shown.collect()
    }

    /// Returns the text that `counts` prints.
    pub(crate) fn counts(&self) -> String {
        let of = |kind| {
            let now = self.0.values().filter_map(|post| post.now.as_ref());
            now.filter(|now| now.1 == kind).count()
        };
        format!("{} drafts, {} published", of(false), of(true))
    }
}
