//! The stored form of a post.

use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

/// A post as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// The title by which it is found.
    pub title: String,
    /// The text of the post.
    pub text: String,
    /// True if everybody may read it.
    pub is_published: bool,
}

impl State for Post {
    const MANIFEST: &'static str = "blog.post";
    const VERSION: u32 = 1;
}
