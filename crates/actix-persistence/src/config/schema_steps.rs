//! The state stores in whose databases the application makes its own tables.

use actix_persistence_storage_api::{ConfigError, ConfigErrors, Origin, SchemaSteps};

use super::resolve::Resolution;
use super::store_section::{StateStoreSettings, StoreSettings};

/// Adds the steps to the extensions of their state stores.
pub(crate) fn bind_schema_steps(all: &[SchemaSteps], resolution: &mut Resolution) {
    for steps in all {
        if let Err(mistake) = bind(steps, resolution) {
            let error = ConfigError {
                origin: Origin::code(),
                path: format!("persistence.{}", StateStoreSettings::SECTION),
                message: format!("the schema steps '{}' {mistake}", steps.name()),
            };
            resolution.mistakes.add(Err(ConfigErrors::one(error)));
        }
    }
}

fn bind(steps: &SchemaSteps, resolution: &mut Resolution) -> Result<(), String> {
    let stores = &mut resolution.settings.state_stores;
    let plugin_id = steps.state_store().or(stores.default.as_deref());
    let Some(plugin_id) = plugin_id.map(StateStoreSettings::short_id) else {
        return Err(
            "need a state store, and the config names no default one: set 'persistence.state.plugin', or name one with \
             'SchemaSteps::in_state_store'"
                .to_owned(),
        );
    };
    let mut found = stores.stores.iter_mut();
    match found.find(|store| store.plugin_id == plugin_id) {
        Some(store) => {
            store.settings.extensions.schema_steps.push(steps.clone());
            Ok(())
        }
        None => Err(format!(
            "name the state store '{plugin_id}', which the config does not have"
        )),
    }
}
