//! The section `back-off`: the delays of failed actors.

use actix_persistence_persistent_actor::{BackOffSettings, OnConflict};
use actix_persistence_storage_api::SectionReader;

use super::durations::positive_duration;

pub(super) fn read_back_off(persistence: &mut SectionReader<'_>) -> BackOffSettings {
    let mut settings = BackOffSettings::default();
    let Some(section) = persistence.section("back-off") else {
        return settings;
    };
    let mut reader = section.reader();
    settings.min = positive_duration(&mut reader, "min", settings.min);
    // Raising only the shortest delay is no contradiction.
    let longest = settings.max.max(settings.min);
    settings.max = positive_duration(&mut reader, "max", longest);
    if settings.max < settings.min {
        reader.reject("max", "must not be shorter than 'min'");
    }
    settings.random_factor = reader.float_or("random-factor", settings.random_factor, 0.0..=1.0);
    let unlimited = u64::MAX;
    let restarts = reader.integer_or("max-restarts", unlimited, 0..=u64::from(u32::MAX));
    settings.max_restarts = u32::try_from(restarts).ok();
    // As in Akka: half-way between the two.
    let half_way = (settings.min + settings.max) / 2;
    settings.reset_after = Some(positive_duration(&mut reader, "reset-after", half_way));
    settings.keep_stash = reader.boolean_or("keep-stash", settings.keep_stash);
    let choices = [("recover", OnConflict::Recover), ("stop", OnConflict::Stop)];
    settings.on_conflict = reader.choice_or("on-conflict", &choices, settings.on_conflict);
    persistence.absorb(reader.finish());
    settings
}
