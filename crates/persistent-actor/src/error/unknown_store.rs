//! The error of naming a store that the config does not have.

/// The reason why no store was found for a plugin id, or for the lack of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownStore {
    /// The config has no store of this kind with this plugin id.
    #[error("there is no {store} with the plugin id '{plugin_id}'; known are: {}", known.join(", "))]
    PluginId {
        /// `journal`, `snapshot store`, `state store` or `offset store`.
        store: &'static str,
        /// The plugin id that was asked for.
        plugin_id: String,
        /// The plugin ids that exist.
        known: Vec<String>,
    },
    /// No journal was named, by the actor or the call, and the config has no default one.
    #[error(
        "there is no default journal: set 'persistence.journal.plugin', or name a journal by its plugin id"
    )]
    NoDefaultJournal,
    /// No state store was named, by the actor or the call, and the config has no default one.
    #[error(
        "there is no default state store: set 'persistence.state.plugin', or name a state store by its plugin id"
    )]
    NoDefaultStateStore,
    /// No offset store was named by the call, and the config has no default one.
    #[error(
        "there is no default offset store: set 'persistence.offset-store.plugin', or name an offset store by its plugin id"
    )]
    NoDefaultOffsetStore,
}
