//! Shares that are made of others.

use super::{Progress, ShareRecord, shares_of};

/// Returns so many equal shares in the place of these, which together hold all slices and come in their order; `None` for a number
/// that [`shares_of`] does not know.
///
/// For plugins. Each slice keeps its progress. The first share gets the counts of all. Each one gets of those before it with
/// slices of its own the earliest of the times that they have reached, none if one has reached none, and the first reason for
/// which one was halted. Epochs are 0, and nothing is left of leases and attempts.
pub fn divided(shares: &[ShareRecord], number: u16) -> Option<Vec<ShareRecord>> {
    let mut new = Vec::new();
    for slices in shares_of(number)? {
        let before = || shares.iter().map(|share| &share.progress);
        let mut share = ShareRecord::new(Progress::of_slices(&slices, before())?);
        let has_some = |before: &&ShareRecord| {
            let before = before.progress.slices();
            before.start() <= slices.end() && slices.start() <= before.end()
        };
        let parts: Vec<_> = shares.iter().filter(has_some).collect();
        // One that has reached none may be before all others.
        let times = parts.iter().map(|before| before.reached_time);
        share.reached_time = times.min().flatten();
        share.halted = parts.iter().find_map(|before| before.halted.clone());
        new.push(share);
    }
    let sum = shares.iter().map(|share| share.handled);
    new.first_mut()?.handled = sum.fold(0, u64::saturating_add);
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    #[test]
    fn a_division_keeps_progress_sum_and_the_earliest_times() {
        let mut one = ShareRecord::new(Progress::new(0..=1023, "1"));
        (one.handled, one.reached_time) = (7, Some(Timestamp::from_micros(5)));
        let mut two = divided(&[one], 2).unwrap();
        assert_eq!([two[0].handled, two[1].handled], [7, 0]);
        assert_eq!(two[1].reached_time, Some(Timestamp::from_micros(5)));
        assert_eq!(two[1].progress, Progress::new(512..=1023, "1"));
        two[1].progress = Progress::new(512..=1023, "2");
        (two[1].handled, two[1].reached_time) = (3, Some(Timestamp::from_micros(4)));
        let three = divided(&two, 3).unwrap();
        let times = three.iter().map(|it| it.reached_time.unwrap().as_micros());
        assert_eq!(times.collect::<Vec<_>>(), [5, 4, 4]);
        assert_eq!(three.iter().map(|it| it.handled).sum::<u64>(), 10);
        assert_eq!(three[1].progress.pieces().len(), 2);
        assert_eq!(divided(&three, 0), None);
    }

    #[test]
    fn a_share_that_has_reached_no_time_leaves_none_to_those_of_its_slices() {
        let mut two = divided(&[ShareRecord::new(Progress::new(0..=1023, "1"))], 2).unwrap();
        two[0].reached_time = Some(Timestamp::from_micros(5));
        let three = divided(&two, 3).unwrap();
        let times = three
            .iter()
            .map(|it| it.reached_time.map(Timestamp::as_micros));
        assert_eq!(times.collect::<Vec<_>>(), [Some(5), None, None]);
    }

    #[test]
    fn a_halt_stays_with_its_slices() {
        let mut two = divided(&[ShareRecord::new(Progress::new(0..=1023, "1"))], 2).unwrap();
        two[1].halted = Some("no way".into());
        let three = divided(&two, 3).unwrap();
        let halted = three.iter().map(|it| it.halted.as_deref());
        assert_eq!(
            halted.collect::<Vec<_>>(),
            [None, Some("no way"), Some("no way")]
        );
        let one = divided(&three, 1).unwrap();
        assert_eq!(one[0].halted.as_deref(), Some("no way"));
    }
}
