//! The statistics of the times of rounds.

use std::time::Duration;

/// The number of standard deviations beyond which a round is left out.
const FAR: f64 = 2.0;

/// The mean, the standard deviation and the quartiles of times, without those far from the mean.
///
/// A time is far if it is more than two standard deviations of all times away from the mean of all times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statistics {
    /// The number of times that count.
    pub(super) rounds: usize,
    /// The number of times that were left out.
    pub(super) outliers: usize,
    /// The mean, in seconds.
    pub(super) mean: f64,
    /// The standard deviation of a sample, in seconds; 0 for one time.
    pub(super) standard_deviation: f64,
    /// The first quartile, the median and the third quartile, in seconds, interpolated.
    pub(super) quartiles: [f64; 3],
}

impl Statistics {
    /// Returns the statistics of these times, of which there is at least one.
    pub(super) fn of(times: &[Duration]) -> Self {
        let mut seconds: Vec<_> = times.iter().map(Duration::as_secs_f64).collect();
        let (mean, deviation) = moments(&seconds);
        seconds.retain(|time| (time - mean).abs() <= FAR * deviation);
        seconds.sort_by(f64::total_cmp);
        let (mean, standard_deviation) = moments(&seconds);
        Self {
            rounds: seconds.len(),
            outliers: times.len() - seconds.len(),
            mean,
            standard_deviation,
            quartiles: [0.25, 0.5, 0.75].map(|part| quantile(&seconds, part)),
        }
    }
}

/// Returns the mean and the standard deviation of a sample.
fn moments(sample: &[f64]) -> (f64, f64) {
    let count = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / count;
    if sample.len() < 2 {
        return (mean, 0.0);
    }
    let squares = sample.iter().map(|value| (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / (count - 1.0)).sqrt())
}

/// Returns the value below which this part of the sorted values is, interpolated between the two next to it.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = place.ceil() as usize;
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn statistics(seconds: &[u64]) -> Statistics {
        let times: Vec<_> = seconds.iter().copied().map(Duration::from_secs).collect();
        Statistics::of(&times)
    }

    #[test]
    fn a_single_time_is_its_own_mean_and_quartiles() {
        let expected = Statistics {
            rounds: 1,
            outliers: 0,
            mean: 7.0,
            standard_deviation: 0.0,
            quartiles: [7.0; 3],
        };
        assert_eq!(statistics(&[7]), expected);
    }

    #[test]
    fn a_time_far_from_the_others_does_not_count() {
        let found = statistics(&[5, 1, 9, 2, 100, 8, 3, 7, 4, 6]);
        let expected = Statistics {
            rounds: 9,
            outliers: 1,
            mean: 5.0,
            standard_deviation: 7.5_f64.sqrt(),
            quartiles: [3.0, 5.0, 7.0],
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn quartiles_between_two_times_are_interpolated() {
        let found = statistics(&[40, 10, 30, 20]);
        assert_eq!(found.quartiles, [17.5, 25.0, 32.5]);
        assert_eq!((found.mean, found.outliers), (25.0, 0));
    }

    proptest! {
        #[test]
        fn most_times_count_and_the_figures_are_in_order(
            nanos in prop::collection::vec(0_u64..100_000_000_000, 1..40),
        ) {
            let times: Vec<_> = nanos.iter().copied().map(Duration::from_nanos).collect();
            let found = Statistics::of(&times);
            prop_assert_eq!(found.rounds + found.outliers, times.len());
            // By Chebyshev's inequality.
            prop_assert!(4 * found.rounds >= 3 * times.len());
            let [low, median, high] = found.quartiles;
            let lowest = times.iter().min().unwrap().as_secs_f64();
            let highest = times.iter().max().unwrap().as_secs_f64();
            prop_assert!(lowest <= low && low <= median && median <= high && high <= highest);
            let rounding = 1e-9 * highest;
            prop_assert!(lowest - rounding <= found.mean && found.mean <= highest + rounding);
            prop_assert!(0.0 <= found.standard_deviation);
            prop_assert!(found.standard_deviation <= highest - lowest + rounding);
        }

        #[test]
        fn the_same_time_again_and_again_is_never_left_out(
            nanos in 0_u64..100_000_000_000, count in 1_usize..40,
        ) {
            let found = Statistics::of(&vec![Duration::from_nanos(nanos); count]);
            prop_assert_eq!((found.rounds, found.outliers), (count, 0));
        }
    }
}
