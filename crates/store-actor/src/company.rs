//! The wait for company: those that a call has just answered often ask again at once.
//!
//! The first of them would have the next call alone, and the others would wait until it has ended.

use std::time::Duration;

use tokio::time::Instant;

/// The number of looks in a row that find nothing new, and the time, after which nothing more is waited for. On a runtime
/// that has nothing else to do, a look takes less than a microsecond.
const QUIET_LOOKS: u32 = 50;
const QUIET: Duration = Duration::from_micros(20);
/// The most that a call waits for company altogether.
const LONGEST: Duration = Duration::from_micros(200);

/// A wait that is under way.
#[derive(Debug)]
pub struct Company {
    expected: usize,
    present: usize,
    looks: u32,
    begin: Instant,
    last_arrival: Instant,
}

impl Company {
    /// Begins to wait until as many requests are there as the last call has answered; a single one needs no company.
    pub fn new(expected: usize) -> Self {
        let now = Instant::now();
        Self {
            expected,
            present: 0,
            looks: 0,
            begin: now,
            last_arrival: now,
        }
    }

    /// Returns whether another look may find more than are `present`.
    ///
    /// Other tasks have to run between two looks.
    pub fn is_worth_waiting(&mut self, present: usize) -> bool {
        self.goes_on(present, Instant::now())
    }

    fn goes_on(&mut self, present: usize, now: Instant) -> bool {
        if present > self.present {
            (self.present, self.last_arrival, self.looks) = (present, now, 0);
        } else {
            self.looks += 1;
        }
        present < self.expected
            && self.looks < QUIET_LOOKS
            && now - self.last_arrival < QUIET
            && now - self.begin < LONGEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_until_all_are_there() {
        let mut company = Company::new(3);
        let now = company.begin;
        assert!(company.goes_on(1, now));
        assert!(company.goes_on(2, now));
        assert!(!company.goes_on(3, now));
    }

    #[test]
    fn waits_no_longer_than_it_is_quiet() {
        let mut company = Company::new(9);
        let mut now = company.begin;
        assert!(company.goes_on(1, now));
        now += QUIET / 2;
        assert!(company.goes_on(2, now));
        now += QUIET / 2;
        assert!(company.goes_on(2, now));
        assert!(!company.goes_on(2, now + QUIET / 2));
    }

    #[test]
    fn gives_up_after_many_looks_whatever_the_clock_says() {
        let mut company = Company::new(2);
        let now = company.begin;
        let looks = (0..).take_while(|_| company.goes_on(1, now)).count();
        assert_eq!(looks, QUIET_LOOKS as usize);
    }

    #[test]
    fn waits_for_a_limited_time_even_if_one_comes_after_the_other() {
        let mut company = Company::new(1_000_000);
        let begin = company.begin;
        let step = QUIET / 10;
        let arrivals =
            (1..).take_while(|count| company.goes_on(*count as usize, begin + step * *count));
        assert_eq!(step * arrivals.count() as u32, LONGEST - step);
    }
}
