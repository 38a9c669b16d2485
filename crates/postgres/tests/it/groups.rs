//! Groups of many ids, and how their statement is planned.

use actix_persistence_sql_tests::Tables;

use crate::place::{Place, id, store};

actix_persistence_sql_tests::test_groups!(Place::new().await);

/// For arrays of one row the planner would make a plan at each execution, which takes longer than the statement.
#[tokio::test]
async fn the_plan_of_an_append_is_kept_whatever_its_values_are() {
    let place = Place::new().await;
    let journal = Tables::journal(&place).await;
    place
        .run(
            "CREATE TABLE seen (setting TEXT);
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO public.seen VALUES (current_setting('plan_cache_mode')); RETURN NULL; END $$;
             CREATE TRIGGER see AFTER INSERT ON event_journal FOR EACH ROW EXECUTE FUNCTION see()",
        )
        .await;
    store(&*journal, &id("a"), 1).await;
    let kept = "SELECT COUNT(*) FROM seen WHERE setting = 'force_generic_plan'";
    assert_eq!(place.number(kept).await, 1);
}
