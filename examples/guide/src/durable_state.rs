//! A blog post that is stored as it is, not as the changes that were made to it.
//!
//! ```text
//! cargo run -p guide -- durable_state blog.db
//! ```

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

// ANCHOR: state
#[derive(Clone, Serialize, Deserialize)]
struct Post {
    title: String,
    paragraphs: Vec<String>,
}

impl State for Post {
    const MANIFEST: &'static str = "blog.post";
    const VERSION: u32 = 2;
    // ANCHOR_END: state

    // ANCHOR: tags
    fn tags(&self) -> Vec<String> {
        let is_long = self.paragraphs.len() > 1;
        is_long.then(|| "long".to_owned()).into_iter().collect()
    }
    // ANCHOR_END: tags

    // ANCHOR: upcasters
    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new().chain(Chain::of::<Post1>(1))
    }
}

/// The post up to version 1, with the text in one piece.
#[derive(Deserialize)]
struct Post1 {
    title: String,
    text: String,
}

impl From<Post1> for Post {
    fn from(Post1 { title, text }: Post1) -> Self {
        let paragraphs = text.lines().map(str::to_owned).collect();
        Post { title, paragraphs }
    }
}
// ANCHOR_END: upcasters

// ANCHOR: actor
struct BlogPost {
    id: &'static str,
    post: Option<Post>,
}

impl Actor for BlogPost {
    type Context = PersistentContext<Self>;
}

impl DurableState for BlogPost {
    type State = Post;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("BlogPost", self.id)
    }

    fn on_state(&mut self, state: Option<&Post>) {
        self.post = state.cloned();
    }
}
// ANCHOR_END: actor

#[derive(Debug)]
enum Refused {
    /// The post does not exist.
    NoPost,
    /// The change may be stored or not; the error says what is certain.
    Persist(PersistError),
}

impl From<PersistError> for Refused {
    fn from(error: PersistError) -> Self {
        Refused::Persist(error)
    }
}

// ANCHOR: persist
/// Adds a paragraph; answers with the number that the post has then.
#[derive(Message)]
#[rtype(result = "Result<usize, Refused>")]
struct Write(&'static str);

impl Handler<Write> for BlogPost {
    type Result = Reply<Write>;

    fn handle(&mut self, Write(paragraph): Write, ctx: &mut Self::Context) -> Reply<Write> {
        let mut post = self.post.clone().unwrap_or_else(|| Post {
            title: "Untitled".to_owned(),
            paragraphs: Vec::new(),
        });
        post.paragraphs.push(paragraph.to_owned());
        ctx.persist(post)
            .then(|_, post, ctx| println!("{} at revision {}", post.title, ctx.revision()))
            .reply(|blog| Ok(blog.post.as_ref().map_or(0, |post| post.paragraphs.len())))
    }
}
// ANCHOR_END: persist

// ANCHOR: delete
#[derive(Message)]
#[rtype(result = "Result<(), Refused>")]
struct Delete;

impl Handler<Delete> for BlogPost {
    type Result = Reply<Delete>;

    fn handle(&mut self, _: Delete, ctx: &mut Self::Context) -> Reply<Delete> {
        if self.post.is_none() {
            return Reply::now(Err(Refused::NoPost));
        }
        ctx.delete()
            .on_complete(|_, ctx| println!("deleted at revision {}", ctx.revision()))
            .reply(|_| Ok(()))
    }
}
// ANCHOR_END: delete

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(2).unwrap_or("blog.db".to_owned());
    let persistence = Persistence::sqlite(file).await?;
    let blog = persistence.start(|| BlogPost {
        id: "first",
        post: None,
    })?;
    for paragraph in ["Once upon a time", "there was an actor"] {
        let paragraphs = blog.send(Write(paragraph)).await?;
        println!("{} paragraphs", paragraphs.unwrap_or_default());
    }
    // ANCHOR: replay
    let seen = persistence.replay(BlogPost {
        id: "first",
        post: None,
    });
    let seen = seen.await?;
    let title = seen.actor.post.map_or("none".to_owned(), |post| post.title);
    println!("seen: {title} at revision {}", seen.sequence_nr);
    // ANCHOR_END: replay
    for _ in 0..2 {
        match blog.send(Delete).await? {
            Ok(()) => println!("gone"),
            Err(Refused::NoPost) => println!("there is none"),
            Err(Refused::Persist(error)) => println!("{error}"),
        }
    }
    Ok(())
}
