//! The stores that an actor asks for.

use crate::PersistentActor;

/// The plugin ids that an actor names, by how it is stored; `None` stands for the configured default.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PluginIds {
    /// The plugin ids of an actor that is stored by its events.
    Events {
        /// The plugin id of its [journal](PersistentActor::journal_plugin_id).
        journal: Option<String>,
        /// The plugin id of its [snapshot store](PersistentActor::snapshot_plugin_id).
        snapshot_store: Option<String>,
    },
    /// The plugin id of an actor whose current state is stored.
    State {
        /// The plugin id of its [state store](crate::DurableState::state_plugin_id).
        state_store: Option<String>,
    },
}

impl PluginIds {
    /// Returns the plugin ids of this actor.
    pub fn of<A: PersistentActor>(actor: &A) -> Self {
        match A::STORED_AS.hooks() {
            None => PluginIds::Events {
                journal: actor.journal_plugin_id(),
                snapshot_store: actor.snapshot_plugin_id(),
            },
            Some(hooks) => PluginIds::State {
                state_store: (hooks.plugin_id)(actor),
            },
        }
    }
}
