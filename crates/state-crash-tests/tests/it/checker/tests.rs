//! The checker finds what it is for, in made-up data.

use super::*;
use crate::stored::Whereabouts;

const PLACES: i64 = 5;

/// What many random moves leave when nothing goes wrong, with all of them acknowledged.
fn some_moves() -> (Vec<Acknowledged>, Stored) {
    let mut stored = Stored {
        counts: (0..PLACES).map(|place| (place, 0)).collect(),
        ..Stored::default()
    };
    for number in 0..20 {
        let parcel = format!("Parcel|{number}");
        let mut whereabouts: Option<Whereabouts> = None;
        // The last one brings it to a place, so that every state can be damaged.
        let last = fastrand::i64(5..20);
        for revision in 1..=last {
            let here = revision == last || fastrand::u8(..4) > 0;
            let place = here.then(|| fastrand::i64(0..PLACES));
            whereabouts = place.map(|place| Whereabouts {
                place,
                moves: whereabouts.map_or(0, |before| before.moves) + 1,
            });
            stored.moves.push(StoredMove {
                parcel: parcel.clone(),
                revision,
                place,
            });
        }
        let place = whereabouts.as_ref().unwrap().place;
        *stored.counts.get_mut(&place).unwrap() += 1;
        stored.states.push(StoredState {
            parcel,
            revision: last,
            whereabouts,
        });
    }
    let acknowledged = stored.moves.iter().map(|noted| Acknowledged {
        parcel: noted.parcel.clone(),
        revision: noted.revision,
        place: noted.place,
    });
    (acknowledged.collect(), stored)
}

/// What the checker says after something was done to the data.
fn found(damage: impl FnOnce(&mut Vec<Acknowledged>, &mut Stored)) -> String {
    let (mut acknowledged, mut stored) = some_moves();
    damage(&mut acknowledged, &mut stored);
    check(&acknowledged, &stored).err().unwrap_or_default()
}

/// The position of the newest move of a parcel.
fn newest(stored: &Stored, parcel: &str) -> usize {
    let mut moves = stored.moves.iter();
    moves.rposition(|noted| noted.parcel == parcel).unwrap()
}

#[test]
fn what_is_right_passes_also_before_all_of_it_was_acknowledged() {
    let (mut acknowledged, stored) = some_moves();
    assert_eq!(check(&acknowledged, &stored), Ok(()));
    acknowledged.truncate(fastrand::usize(..acknowledged.len()));
    fastrand::shuffle(&mut acknowledged);
    assert_eq!(check(&acknowledged, &stored), Ok(()));
    assert_eq!(check(&[], &Stored::default()), Ok(()));
}

#[test]
fn a_wrong_count_is_found() {
    let wrong = found(|_, stored| *stored.counts.get_mut(&2).unwrap() += 1);
    assert!(wrong.starts_with("counted were"), "{wrong}");
    let missing = found(|_, stored| {
        let place = stored.states[0].whereabouts.as_ref().unwrap().place;
        stored.counts.remove(&place);
    });
    assert!(missing.starts_with("counted were"), "{missing}");
}

#[test]
fn a_skipped_revision_is_found() {
    let first = found(|_, stored| drop(stored.moves.remove(0)));
    assert_eq!(first, "revision 1 of Parcel|0 was skipped");
    let middle = found(|_, stored| drop(stored.moves.remove(2)));
    assert_eq!(middle, "revision 3 of Parcel|0 was skipped");
    let last = found(|_, stored| {
        let at = newest(stored, "Parcel|7");
        stored.moves[at].revision += 1;
        stored.states[7].revision += 1;
    });
    assert!(last.ends_with("of Parcel|7 was skipped"), "{last}");
}

#[test]
fn a_revision_that_was_used_twice_is_found() {
    let noted = found(|_, stored| {
        let again = stored.moves[3].clone();
        stored.moves.push(again);
    });
    assert_eq!(noted, "revision 4 of Parcel|0 was used twice");
    let told = found(|acknowledged, _| {
        let again = acknowledged[3].clone();
        acknowledged.push(again);
    });
    assert_eq!(told, "revision 4 of Parcel|0 was told twice");
}

#[test]
fn an_acknowledged_move_that_is_lost_or_another_is_found() {
    let lost = found(|acknowledged, stored| {
        let mut beyond = acknowledged[0].clone();
        beyond.revision = stored.states[0].revision + 1;
        acknowledged.push(beyond);
    });
    assert!(lost.ends_with("was told and is lost"), "{lost}");
    let unknown = found(|acknowledged, _| acknowledged[0].parcel = "Parcel|x".to_owned());
    assert!(unknown.ends_with("was told and is lost"), "{unknown}");
    let other = found(|acknowledged, _| {
        let place = &mut acknowledged[0].place;
        *place = place.map_or(Some(0), |_| None);
    });
    assert!(other.contains("was told, but stored is"), "{other}");
}

#[test]
fn a_state_without_its_last_move_is_found() {
    let behind = found(|_, stored| stored.states[4].revision -= 1);
    assert!(behind.contains("is not at its last move"), "{behind}");
    let ahead = found(|_, stored| stored.states[4].revision += 1);
    assert!(ahead.contains("is not at its last move"), "{ahead}");
    let gone = found(|_, stored| drop(stored.states.remove(4)));
    assert_eq!(gone, "Parcel|4 was moved and has no state");
    let doubled = found(|_, stored| stored.states.push(stored.states[4].clone()));
    assert_eq!(doubled, "Parcel|4 has two states");
}

#[test]
fn a_state_that_was_not_made_of_the_one_before_is_found() {
    type Damage = fn(&mut Option<Whereabouts>);
    let damages: [Damage; 3] = [
        |whereabouts| whereabouts.as_mut().unwrap().moves += 1,
        |whereabouts| whereabouts.as_mut().unwrap().place += 1,
        |whereabouts| *whereabouts = None,
    ];
    for damage in damages {
        let other = found(|_, stored| damage(&mut stored.states[4].whereabouts));
        assert!(other.contains("moves lead to"), "{other}");
    }
}
