//! The application's own tables, made step by step.

use actix_persistence_postgres::PostgresPlugin;
use actix_persistence_sql_tests::states::schema_steps::with_steps;
use actix_persistence_storage_api::{Origin, Plugin, SchemaStep, Section, SessionWork};

use crate::database::execute;
use crate::place::Place;

actix_persistence_sql_tests::test_schema_steps!(Place::new().await);

#[tokio::test]
async fn the_printed_steps_are_for_the_schema_and_the_role_of_the_store() {
    let place = Place::new().await;
    let section = Section::new("test", Origin::code())
        .with("url", place.database.application_url())
        .with("schema", "shop")
        .with("connect-timeout", "60s")
        .with("acquire-timeout", "60s");
    let extensions = with_steps([
        SchemaStep::new("CREATE TABLE customer_order (id BIGINT, customer TEXT)"),
        SchemaStep::index("order_by_customer", "customer_order", "customer"),
    ]);
    let (plugin, roles) = (PostgresPlugin::new(), place.database.roles());
    let script = plugin.state_store_schema(&section, &extensions, Some(&roles));
    let script = script.unwrap().unwrap();
    assert!(
        script.contains("-- Outside a transaction: this runs while others write."),
        "{script}"
    );
    let mut administrator = place.connection().await;
    for statement in script.split(";\n") {
        execute(&mut administrator, statement).await;
    }

    let store = plugin.state_store(&section, &extensions).unwrap();
    store.initialize().await.unwrap();
    let work = SessionWork::new(|session| {
        Box::pin(async move {
            let sql = "INSERT INTO customer_order VALUES (1, 'ann')";
            session.execute(sql, []).await?;
            Ok(())
        })
    });
    store.sql().unwrap().transact(work).await.unwrap();
    assert_eq!(
        place
            .number("SELECT COUNT(*) FROM shop.customer_order")
            .await,
        1
    );
}
