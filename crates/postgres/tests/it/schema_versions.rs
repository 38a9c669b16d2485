//! Tables of other versions, other names, and made by several at once.

use actix_persistence_sql_tests::journal::schema_versions;

use crate::place::Place;

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/version_1.sql");

actix_persistence_sql_tests::test_schema_versions!(Place::new().await, 3);

#[tokio::test]
async fn a_database_of_version_1_opens_and_goes_on() {
    let place = Place::new().await;
    schema_versions::a_database_of_version_1_opens_and_goes_on(&place, VERSION_1).await;
}
