//! The trait of a plugin, which an application registers in one line.

use std::sync::Arc;

use crate::{
    ConfigErrors, Journal, OffsetStore, Roles, Section, SnapshotStore, StateExtensions, StateStore,
};

/// Makes stores from sections of the config.
///
/// One plugin makes any number of stores; those of one database may share resources, such as data in memory.
/// Making a store opens nothing: that is what `initialize` is for.
pub trait Plugin: Send + Sync {
    /// Returns the value of `kind` that chooses this plugin in a section, such as `sqlite`.
    fn name(&self) -> &'static str;

    /// Makes the journal of one plugin id. The section no longer has the keys that all journals share.
    ///
    /// # Errors
    /// Fails with all mistakes of the section at once, or because the plugin has no journal.
    fn journal(&self, section: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        Err(ConfigErrors::unsupported(section, self.name(), "journal"))
    }

    /// Makes the snapshot store of one plugin id. The section no longer has the keys that all snapshot stores share.
    ///
    /// # Errors
    /// Fails with all mistakes of the section at once, or because the plugin has no snapshot store.
    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        Err(ConfigErrors::unsupported(
            section,
            self.name(),
            "snapshot store",
        ))
    }

    /// Makes the state store of one plugin id. The section no longer has the keys that all state stores share, and those
    /// of them that name code of the application are resolved to the extensions.
    ///
    /// # Errors
    /// Fails with all mistakes of the section at once, or because the plugin has no state store, or none with such
    /// extensions.
    fn state_store(
        &self,
        section: &Section,
        _extensions: &StateExtensions,
    ) -> Result<Arc<dyn StateStore>, ConfigErrors> {
        Err(ConfigErrors::unsupported(
            section,
            self.name(),
            "state store",
        ))
    }

    /// Makes the offset store of one plugin id. The section no longer has the keys that all offset stores share.
    ///
    /// # Errors
    /// Fails with all mistakes of the section at once, or because the plugin has no offset store.
    fn offset_store(&self, section: &Section) -> Result<Arc<dyn OffsetStore>, ConfigErrors> {
        Err(ConfigErrors::unsupported(
            section,
            self.name(),
            "offset store",
        ))
    }

    /// Returns the statements that make what the journal of a section needs, for a person who does it instead of
    /// [`initialize`](Journal::initialize); with roles, they include the rights of the two accounts. `None` if there is
    /// nothing to make.
    ///
    /// # Errors
    /// All that is wrong with the section or the roles.
    fn journal_schema(
        &self,
        _section: &Section,
        _roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        Ok(None)
    }

    /// Returns the same for the snapshot store of a section.
    ///
    /// # Errors
    /// As for [`journal_schema`](Self::journal_schema).
    fn snapshot_store_schema(
        &self,
        _section: &Section,
        _roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        Ok(None)
    }

    /// Returns the same for the state store of a section, with all tables of its extensions.
    ///
    /// # Errors
    /// As for [`journal_schema`](Self::journal_schema).
    fn state_store_schema(
        &self,
        _section: &Section,
        _extensions: &StateExtensions,
        _roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        Ok(None)
    }

    /// Returns the same for the offset store of a section.
    ///
    /// # Errors
    /// As for [`journal_schema`](Self::journal_schema).
    fn offset_store_schema(
        &self,
        _section: &Section,
        _roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        Ok(None)
    }

    /// Returns the same section, changed so that its store uses what is there and makes nothing: no file, no database,
    /// no table.
    ///
    /// For tools that work on what an application stored: what is missing is an error to them. The default changes nothing,
    /// for plugins whose stores make nothing, or cannot know that.
    fn without_making(&self, section: &Section) -> Section {
        section.clone()
    }

    /// Returns the keys whose values must not be shown, such as `password`; a `url` is always shown without its
    /// password.
    fn secret_keys(&self) -> &'static [&'static str] {
        &["password"]
    }
}

/// Fails to compile when [`Plugin`] is no longer object safe.
const _: Option<&dyn Plugin> = None;
