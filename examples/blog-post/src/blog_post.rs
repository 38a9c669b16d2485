//! A post, and what may be done to it.

use actix::prelude::*;
use actix_persistence::Revision;
use actix_persistence::prelude::*;

use crate::Post;

/// The actor of one post.
pub struct BlogPost {
    id: PersistenceId,
    post: Option<Post>,
}

impl BlogPost {
    /// The text before the `|` of its persistence ids.
    pub const ENTITY_TYPE: &'static str = "BlogPost";

    /// The post with this name.
    pub fn new(name: &str) -> Self {
        Self {
            id: Self::id_of(name),
            post: None,
        }
    }

    /// Under which id the post with this name is stored.
    pub fn id_of(name: &str) -> PersistenceId {
        PersistenceId::of(Self::ENTITY_TYPE, name)
    }

    /// The post, if there is one.
    pub fn post(&self) -> Option<&Post> {
        self.post.as_ref()
    }
}

impl Actor for BlogPost {
    type Context = PersistentContext<Self>;
}

impl DurableState for BlogPost {
    type State = Post;

    fn persistence_id(&self) -> PersistenceId {
        self.id.clone()
    }

    fn on_state(&mut self, state: Option<&Post>) {
        self.post = state.cloned();
    }
}

/// The reason why a command was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The post was never written under this name, or it was deleted.
    #[error("there is no such post")]
    NoPost,
    /// The command was not stored, or is not known to be.
    #[error("the post was not changed")]
    Persist(#[from] PersistError),
}

/// The answer to a command: the revision that the post has afterwards.
type Answer = Result<Revision, PostError>;

/// Sets the title and the text of the post; a published one stays published.
#[derive(Message)]
#[rtype(result = "Answer")]
pub struct Write {
    /// The title of the post.
    pub title: String,
    /// The text of the post.
    pub text: String,
}

impl Handler<Write> for BlogPost {
    type Result = Reply<Write>;

    fn handle(&mut self, Write { title, text }: Write, ctx: &mut Self::Context) -> Reply<Write> {
        let is_published = self.post.as_ref().is_some_and(|post| post.is_published);
        let post = Post {
            title,
            text,
            is_published,
        };
        ctx.persist(post).reply_with(|_, ctx| Ok(ctx.revision()))
    }
}

/// Lets everybody read the post.
#[derive(Message)]
#[rtype(result = "Answer")]
pub struct Publish;

impl Handler<Publish> for BlogPost {
    type Result = Reply<Publish>;

    fn handle(&mut self, _: Publish, ctx: &mut Self::Context) -> Reply<Publish> {
        let Some(post) = &self.post else {
            return Reply::now(Err(PostError::NoPost));
        };
        if post.is_published {
            return Reply::now(Ok(ctx.revision()));
        }
        let post = Post {
            is_published: true,
            ..post.clone()
        };
        ctx.persist(post).reply_with(|_, ctx| Ok(ctx.revision()))
    }
}

/// Deletes the post; one that is written again goes on with the revisions.
#[derive(Message)]
#[rtype(result = "Answer")]
pub struct Delete;

impl Handler<Delete> for BlogPost {
    type Result = Reply<Delete>;

    fn handle(&mut self, _: Delete, ctx: &mut Self::Context) -> Reply<Delete> {
        if self.post.is_none() {
            return Reply::now(Err(PostError::NoPost));
        }
        ctx.delete().reply_with(|_, ctx| Ok(ctx.revision()))
    }
}
