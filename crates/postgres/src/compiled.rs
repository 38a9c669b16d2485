//! The code of the stores on this database, compiled once for all crates that use them.

use actix_persistence_storage_api::Plugin;

use crate::PostgresPlugin;

/// Makes the plugin, and with it all that its stores are generic over.
///
/// A build without optimisation takes generic code from the crates below where these have compiled it. Without this none had,
/// and each program that opens a store compiled it again, whenever it was built. Optimised code is not shared.
#[used]
static STORES: fn() -> Box<dyn Plugin> = || Box::new(PostgresPlugin::new());
