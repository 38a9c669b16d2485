//! The kinds of plugins that a section can choose.

use actix_persistence_storage_api::Plugin;

/// The `kind` of the stores that the program made itself.
pub(crate) const MADE_IN_CODE: &str = "code";

/// A registered plugin, as far as the config needs to know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PluginKind {
    /// The value of `kind` that chooses this plugin in a section.
    pub(crate) name: &'static str,
    /// The keys whose values must not be shown.
    pub(crate) secret_keys: &'static [&'static str],
}

impl From<&dyn Plugin> for PluginKind {
    fn from(plugin: &dyn Plugin) -> Self {
        Self {
            name: plugin.name(),
            secret_keys: plugin.secret_keys(),
        }
    }
}
