//! States of older programs are read, and the stored form may differ from the type that the actor works with.

use actix::{Actor, Handler, Message};
use actix_persistence_persistent_actor::{
    Chain, DecodeError, DurableState, PersistError, PersistentContext, Reply, State,
    StateUpcasters, Stored, decode_state,
};
use actix_persistence_storage_api::{Payload, PersistenceId};
use serde::{Deserialize, Serialize};

use super::state_world::StateWorld;
use crate::tally::{Log, chain};
use crate::world::run;

/// Since version 3 it has paragraphs; since version 2 it may have a subtitle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Shape", into = "Shape")]
struct Post {
    title: String,
    paragraphs: Vec<String>,
}

/// The stored form of a post: only the store sees it.
#[derive(Serialize, Deserialize)]
struct Shape {
    t: String,
    #[serde(default)]
    p: Vec<String>,
}

impl From<Shape> for Post {
    fn from(stored: Shape) -> Self {
        Self {
            title: stored.t,
            paragraphs: stored.p,
        }
    }
}

impl From<Post> for Shape {
    fn from(post: Post) -> Self {
        Self {
            t: post.title,
            p: post.paragraphs,
        }
    }
}

/// The form that version 1 stored.
#[derive(Deserialize)]
struct Post1 {
    title: String,
    text: String,
}

impl State for Post {
    const MANIFEST: &'static str = "test.post";
    const VERSION: u32 = 3;

    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new()
            .chain(Chain::of_with(1, post_of_version_1))
            .unchanged(2)
            .renamed("test.article", 2)
    }
}

fn post_of_version_1(stored: &Stored<'_>) -> Result<Post, DecodeError> {
    let Post1 { title, text } = stored.decode()?;
    if title.is_empty() {
        return Err(stored.refuse("a post of version 1 has no title"));
    }
    let paragraphs = text.lines().map(str::to_owned).collect();
    Ok(Post { title, paragraphs })
}

struct BlogPost {
    log: Log,
    post: Option<Post>,
}

impl Actor for BlogPost {
    type Context = PersistentContext<Self>;
}

impl DurableState for BlogPost {
    type State = Post;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("BlogPost", "1")
    }

    fn on_state(&mut self, state: Option<&Post>) {
        self.post = state.cloned();
    }

    fn on_recovery_failure(&mut self, error: &actix_persistence_persistent_actor::RecoveryError) {
        self.log.add(chain(error));
    }
}

#[derive(Message)]
#[rtype(result = "Result<Option<Post>, PersistError>")]
struct Retitle(&'static str);

impl Handler<Retitle> for BlogPost {
    type Result = Reply<Retitle>;

    fn handle(&mut self, Retitle(title): Retitle, ctx: &mut Self::Context) -> Self::Result {
        let before = self.post.clone();
        let paragraphs = before.clone().map_or(Vec::new(), |post| post.paragraphs);
        let title = title.to_owned();
        ctx.persist(Post { title, paragraphs })
            .reply(|_| Ok(before))
    }
}

/// A world in which this is stored, as JSON.
async fn with(manifest: &str, json: &'static str) -> StateWorld {
    let world = StateWorld::new();
    let id = PersistenceId::of("BlogPost", "1");
    world.store(&id, Payload::new(2, manifest, json)).await;
    world
}

/// Returns the post that the actor had recovered.
async fn recovered(world: &StateWorld) -> Post {
    let factory = || BlogPost {
        log: Log::default(),
        post: None,
    };
    let blog = world.start(factory).unwrap();
    blog.send(Retitle("new")).await.unwrap().unwrap().unwrap()
}

fn post(title: &str, paragraphs: &[&str]) -> Post {
    Post {
        title: title.to_owned(),
        paragraphs: paragraphs.iter().map(|&text| text.to_owned()).collect(),
    }
}

#[test]
fn a_state_of_an_older_version_is_read_as_its_type_says() {
    run(|| async {
        let world = with("test.post:v1", r#"{"title":"old","text":"a\nb"}"#).await;
        assert_eq!(recovered(&world).await, post("old", &["a", "b"]));
    });
}

#[test]
fn fields_that_an_older_version_lacks_have_their_defaults() {
    run(|| async {
        let world = with("test.post:v2", r#"{"t":"old"}"#).await;
        assert_eq!(recovered(&world).await, post("old", &[]));
    });
}

#[test]
fn what_is_stored_is_the_type_that_the_state_is_turned_into() {
    run(|| async {
        let world = with("test.post:v3", r#"{"t":"old","p":["a"]}"#).await;
        assert_eq!(recovered(&world).await, post("old", &["a"]));
        let id = PersistenceId::of("BlogPost", "1");
        let stored = world.stored(&id).await;
        let payload = stored.state.unwrap().payload;
        assert_eq!((stored.revision, &*payload.manifest), (2, "test.post:v3"));
        let stored: Shape = rmp_serde::from_slice(&payload.bytes).unwrap();
        assert_eq!((stored.t.as_str(), stored.p), ("new", vec!["a".to_owned()]));
    });
}

#[test]
fn what_the_type_refuses_fails_the_recovery_with_its_reason() {
    run(|| async {
        let world = with("test.post:v1", r#"{"title":"","text":""}"#).await;
        let log = Log::default();
        let made = log.clone();
        let blog = world.start(move || BlogPost {
            log: made.clone(),
            post: None,
        });
        blog.unwrap().send(Retitle("new")).await.unwrap_err();
        let expected = "could not decode the state of \"BlogPost|1\" at revision 1, stored by serializer 2 \
                        as \"test.post:v1\": the type refuses it: a post of version 1 has no title";
        assert_eq!(log.take(), [expected]);
    });
}

#[test]
fn a_state_that_was_renamed_is_read_and_stored_under_its_name_of_today() {
    run(|| async {
        let world = with("test.article:v2", r#"{"t":"old","p":["a"]}"#).await;
        assert_eq!(recovered(&world).await, post("old", &["a"]));
        let stored = world.stored(&PersistenceId::of("BlogPost", "1")).await;
        let payload = stored.state.unwrap().payload;
        assert_eq!(&*payload.manifest, "test.post:v3");
    });
}

#[test]
fn code_beside_actors_reads_older_states_as_the_actor_does() {
    let read = |manifest, json| decode_state::<Post>(&Payload::new(2, manifest, json));
    let old = read("test.post:v1", r#"{"title":"old","text":"a\nb"}"#);
    assert_eq!(old.unwrap(), post("old", &["a", "b"]));
    let error = read("test.article:v1", "{}").unwrap_err().to_string();
    let expected = "no step reads version 1 of \"test.article\"; this program reads version 2 of \"test.article\", \
                    versions 1 to 3 of \"test.post\"";
    assert_eq!(error, expected);
}
