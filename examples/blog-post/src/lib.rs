#![doc = include_str!("../README.md")]

mod blog_post;
mod counts;
mod open;
mod post;
mod search;
mod tables;
mod title;

pub use blog_post::{BlogPost, Delete, PostError, Publish, Write};
pub use counts::{Counts, Totals, totals};
pub use open::open;
pub use post::Post;
pub use search::{Words, keep_words, newest_change, posts_with};
pub use title::{Title, with_title};
