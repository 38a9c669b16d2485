//! The actor of tests on durable states.

use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

/// A text on paper.
pub(crate) struct Note {
    pub(crate) entity_type: &'static str,
    pub(crate) name: &'static str,
    pub(crate) state_store: Option<String>,
    pub(crate) text: String,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Written(pub(crate) String);

impl State for Written {
    const MANIFEST: &'static str = "note";
    const VERSION: u32 = 1;
}

impl Note {
    pub(crate) fn named(name: &'static str) -> Self {
        Self {
            entity_type: "Note",
            name,
            state_store: None,
            text: String::new(),
        }
    }

    pub(crate) fn stored_in(plugin_id: &str) -> Self {
        Self {
            state_store: Some(plugin_id.to_owned()),
            ..Self::named("1")
        }
    }
}

impl Actor for Note {
    type Context = PersistentContext<Self>;
}

impl DurableState for Note {
    type State = Written;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of(self.entity_type, self.name)
    }

    fn state_plugin_id(&self) -> Option<String> {
        self.state_store.clone()
    }

    fn on_state(&mut self, state: Option<&Written>) {
        self.text = state.map(|written| written.0.clone()).unwrap_or_default();
    }
}

/// Writes one more letter; answers with the text.
#[derive(Message)]
#[rtype(result = "Result<String, PersistError>")]
pub(crate) struct Write(pub(crate) char);

impl Handler<Write> for Note {
    type Result = Reply<Write>;

    fn handle(&mut self, Write(letter): Write, ctx: &mut Self::Context) -> Self::Result {
        let text = format!("{}{letter}", self.text);
        ctx.persist(Written(text))
            .reply(|note| Ok(note.text.clone()))
    }
}
