//! Code of the application that the config chooses by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use actix_persistence_persistent_actor::Serializers;
use actix_persistence_storage_api::{AdditionalColumn, ChangeHandler};

use super::OverflowChoices;

/// The code that the application has registered with the builder for keys of the config to name.
#[derive(Clone, Default)]
pub(crate) struct NamedCode {
    /// The choices for `internal-stash.overflow`.
    pub(crate) overflow: OverflowChoices,
    /// The columns for `additional-columns` of state stores.
    pub(crate) columns: BTreeMap<String, Arc<dyn AdditionalColumn>>,
    /// The handlers for `change-handler` of state stores.
    pub(crate) change_handlers: BTreeMap<String, Arc<dyn ChangeHandler>>,
    /// The choices for `serializer` of all stores.
    pub(crate) serializers: Serializers,
    /// True if a serializer that is not there is no mistake: nothing is to be encoded.
    pub(crate) may_lack_serializers: bool,
    /// True if columns and handlers that are not there are left out instead of reported: nothing is to be stored.
    pub(crate) may_lack_extensions: bool,
}

/// Shows names: code has no content to show.
impl fmt::Debug for NamedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedCode")
            .field("overflow", &self.overflow)
            .field("columns", &self.columns.keys())
            .field("change_handlers", &self.change_handlers.keys())
            .field("serializers", &self.serializers)
            .finish()
    }
}
