//! Durable states that are encrypted.

use std::borrow::Cow;
use std::sync::Arc;

use actix::{Actor, Handler, Message};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    DecodeError, DurableState, ErrorChain, KeyStore, PersistError, PersistentContext, Reply,
    Serializers, Shredded, State, decode_state, replay_actor,
};
use actix_persistence_storage_api::{PersistenceId, StateStore};
use serde::{Deserialize, Serialize};

use super::diary::contains;
use super::keys::Keys;
use crate::durable_state::state_world::StateWorld;
use crate::world::run;

/// A card about a person; a forgiving one has a value for what is shredded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Card<const FORGIVING: bool> {
    text: String,
}

impl<const FORGIVING: bool> State for Card<FORGIVING> {
    const MANIFEST: &'static str = "card";
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        Some("ada".into())
    }

    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        let text = format!("nothing at {}", what.number);
        FORGIVING.then_some(Self { text })
    }
}

#[derive(Default)]
struct Drawer<const FORGIVING: bool> {
    card: Option<Card<FORGIVING>>,
}

fn id() -> PersistenceId {
    PersistenceId::of("Drawer", "1")
}

impl<const FORGIVING: bool> Actor for Drawer<FORGIVING> {
    type Context = PersistentContext<Self>;
}

impl<const FORGIVING: bool> DurableState for Drawer<FORGIVING> {
    type State = Card<FORGIVING>;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_state(&mut self, state: Option<&Card<FORGIVING>>) {
        self.card = state.cloned();
    }
}

/// Replaces the card; answers with the text that was there.
#[derive(Message)]
#[rtype(result = "Result<Option<String>, PersistError>")]
struct Put(&'static str);

impl<const FORGIVING: bool> Handler<Put> for Drawer<FORGIVING> {
    type Result = Reply<Put>;

    fn handle(&mut self, Put(text): Put, ctx: &mut Self::Context) -> Reply<Put> {
        let before = self.card.as_ref().map(|card| card.text.clone());
        let text = text.to_owned();
        ctx.persist(Card { text }).reply(|_| Ok(before))
    }
}

fn world(storage: &MemoryStorage, keys: &Arc<Keys>) -> StateWorld {
    let store = Arc::new(storage.state_store());
    let keys = Arc::clone(keys) as Arc<dyn KeyStore>;
    StateWorld::tuned(
        storage.clone(),
        store,
        |_| {},
        |environment| {
            environment.serializers = Serializers::default().with_key_store(keys);
        },
    )
}

#[test]
fn a_state_is_encrypted_for_its_revision_and_its_loss_is_a_value() {
    run(|| async {
        let (storage, keys) = (MemoryStorage::new(), Arc::new(Keys::default()));
        let world = world(&storage, &keys);
        let strict = world.start(Drawer::<false>::default).unwrap();
        for (text, before) in [
            ("first-first", None),
            ("second-second", Some("first-first")),
        ] {
            let replaced = strict.send(Put(text)).await.unwrap().unwrap();
            assert_eq!(replaced.as_deref(), before);
        }
        drop(strict);
        while !world.environment.live_ids.is_empty() {
            tokio::task::yield_now().await;
        }
        let current = storage.state_store().get(&id()).await.unwrap();
        let payload = current.state.unwrap().payload;
        assert_eq!((payload.serializer_id, current.revision), (4, 2));
        assert!(!contains(&payload, "second"));

        let serializers = &world.environment.serializers;
        let decode = |revision| serializers.decode_state::<Card<false>>(&id(), revision, &payload);
        assert_eq!(decode(2).unwrap().text, "second-second");
        assert!(decode(1).is_err(), "that is another place");
        let without = decode_state::<Card<false>>(&payload).unwrap_err();
        assert!(matches!(without, DecodeError::NoKeyStore), "{without}");

        keys.destroy("ada");
        let error = replay_actor(Drawer::<false>::default(), world.environment.clone()).await;
        let error = ErrorChain(&error.err().unwrap()).to_string();
        assert!(
            error.contains("state of \"Drawer|1\" at revision 2"),
            "{error}"
        );
        assert!(error.contains("implement `shredded`"), "{error}");
        let forgiving = world.start(Drawer::<true>::default).unwrap();
        let refused = forgiving.send(Put("third")).await.unwrap();
        assert!(
            matches!(refused, Err(PersistError::Rejected(_))),
            "{refused:?}"
        );
        let read = replay_actor(Drawer::<true>::default(), world.environment.clone()).await;
        let (read, revision) = read.unwrap();
        assert_eq!(
            (read.card.unwrap().text.as_str(), revision),
            ("nothing at 2", 2)
        );
    });
}
