//! Decides when the write-ahead log is copied to the database.

use super::frames::FRAME_HEADER_BYTES;
use super::position::LogEnd;

/// The number of frames after which the log is copied, as SQLite does by itself; fewer if the log is to be short.
const COPY_AT: u32 = 1000;
/// The number of copies from which on the log is to begin anew, so that writes go on in the part of the file that is there.
const COPIES: u32 = 4;
/// The number of copies after which the writer copies the rest, however much that is: others write faster than the log is
/// copied.
const MOST_COPIES: u32 = 12;
/// The part of the most bytes of a log after which it is copied, so that it begins anew long before.
const PARTS: u64 = 16;
const USUAL_PAGE_BYTES: u64 = 4096;

/// The plan of the copies of one log after the other.
#[derive(Debug)]
pub(super) struct LogCopies {
    salts: u64,
    /// The number of frames from which on a copy is to be thought of.
    next: u32,
    copy_at: u32,
}

/// The copy that is to be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// A copy beside the writer.
    Beside,
    /// A copy of what is left, by the writer, so that the log begins anew.
    Rest,
}

impl LogCopies {
    /// Makes the plan for a log of at most so many bytes: there it is shortened, which takes longer.
    pub(super) fn new(max_log_bytes: u64) -> Self {
        let part = max_log_bytes / PARTS / (FRAME_HEADER_BYTES + USUAL_PAGE_BYTES);
        let copy_at = u32::try_from(part).map_or(COPY_AT, |part| part.clamp(1, COPY_AT));
        Self {
            salts: 0,
            next: copy_at,
            copy_at,
        }
    }

    fn begin_anew_at(&self) -> u32 {
        COPIES * self.copy_at
    }

    fn at_last(&self) -> u32 {
        MOST_COPIES * self.copy_at
    }

    /// Returns the most frames that the writer itself copies before the last moment, while all others wait for it.
    fn few(&self) -> u32 {
        (self.copy_at / 10 * 6).max(1)
    }

    /// Returns the number of further frames after which a copy is tried again, where a reader keeps the log from being begun
    /// anew.
    fn again(&self) -> u32 {
        (self.copy_at / 10).max(1)
    }

    /// Returns the copy that is due after a commit, if the last copy has come so far, perhaps in a log before.
    pub(super) fn due(&mut self, log: LogEnd, copied: LogEnd, is_idle: bool) -> Due {
        if self.salts != log.salts {
            self.salts = log.salts;
            self.next = self.copy_at;
        }
        let LogEnd { frames, .. } = log;
        if frames < self.next {
            return Due::Nothing;
        }
        let begins_anew = frames >= self.begin_anew_at();
        let copied = if copied.salts == log.salts {
            copied.frames
        } else {
            0
        };
        let has_few = is_idle && frames.saturating_sub(copied) <= self.few();
        if (begins_anew && has_few) || frames >= self.at_last() {
            self.next = frames.saturating_add(self.again());
            return Due::Rest;
        }
        if !is_idle {
            return Due::Nothing;
        }
        self.next = match begins_anew {
            true => frames.saturating_add(self.again()),
            false => frames
                .saturating_add(self.copy_at)
                .min(self.begin_anew_at()),
        };
        Due::Beside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> LogCopies {
        LogCopies::new(64 * 1024 * 1024)
    }

    fn end(salts: u64, frames: u32) -> LogEnd {
        LogEnd { salts, frames }
    }

    #[test]
    fn a_log_is_copied_beside_the_writer_and_begun_anew_with_few_left() {
        let mut plan = plan();
        assert_eq!(plan.due(end(1, 999), end(1, 0), true), Due::Nothing);
        assert_eq!(plan.due(end(1, 1000), end(1, 0), true), Due::Beside);
        assert_eq!(plan.due(end(1, 1999), end(1, 990), true), Due::Nothing);
        assert_eq!(plan.due(end(1, 3100), end(1, 990), true), Due::Beside);
        // Not while a copy is under way.
        assert_eq!(plan.due(end(1, 4050), end(1, 990), false), Due::Nothing);
        assert_eq!(plan.due(end(1, 4100), end(1, 3100), true), Due::Beside);
        assert_eq!(plan.due(end(1, 4199), end(1, 4100), true), Due::Nothing);
        assert_eq!(plan.due(end(1, 4200), end(1, 4100), true), Due::Rest);
        assert_eq!(plan.due(end(2, 10), end(1, 4200), true), Due::Nothing);
        assert_eq!(plan.due(end(2, 4000), end(1, 4200), true), Due::Beside);
    }

    #[test]
    fn a_reader_that_keeps_the_log_lets_it_be_copied_again_now_and_then() {
        let mut plan = plan();
        let mut copies = 0;
        let (begin_anew_at, at_last, again) = (plan.begin_anew_at(), plan.at_last(), plan.again());
        for frames in 1..=at_last {
            let due = plan.due(end(1, frames), end(1, 500), true);
            copies += u32::from(due != Due::Nothing);
        }
        let beside = COPIES + (at_last - begin_anew_at) / again;
        assert!((beside - 2..=beside + 2).contains(&copies), "{copies}");
        assert_eq!(
            plan.due(end(1, at_last + again), end(1, 500), true),
            Due::Rest
        );
    }

    /// Whatever the sizes of transactions are, and however long copies take: the log begins anew before it has to be
    /// shortened, and the writer rarely copies much.
    #[test]
    fn a_log_does_not_grow_beyond_what_is_planned() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let most_frames = 1 << random.u32(0..9);
            let most_commits_of_a_copy = random.u32(1..30);
            let mut plan = LogCopies::new(1 << random.u32(16..30));
            let (few, at_last) = (plan.few(), plan.at_last());
            let (mut salts, mut frames, mut copied) = (1, 0, end(0, 0));
            // The end of the copy that is under way, and the commits that it still takes.
            let mut under_way: Option<(u32, u32)> = None;
            for _ in 0..20_000 {
                frames += random.u32(1..=most_frames);
                if let Some((to, left)) = under_way {
                    under_way = (left > 0).then(|| (to, left.saturating_sub(1)));
                    if left == 0 {
                        copied = end(salts, to);
                    }
                }
                let of_this = if copied.salts == salts {
                    copied.frames
                } else {
                    0
                };
                match plan.due(end(salts, frames), copied, under_way.is_none()) {
                    Due::Nothing => {}
                    Due::Beside => {
                        assert!(under_way.is_none(), "seed {seed}");
                        under_way = Some((frames, random.u32(0..most_commits_of_a_copy)));
                    }
                    Due::Rest => {
                        let left = frames - of_this;
                        assert!(left <= few || frames >= at_last, "seed {seed}: {left}");
                        under_way = None;
                        (salts, frames) = (salts + 1, 0);
                    }
                }
                assert!(frames < at_last + most_frames, "seed {seed}: {frames}");
            }
            assert!(salts > 1, "seed {seed}: the log never began anew");
        }
    }

    #[test]
    fn a_short_log_begins_anew_before_it_is_shortened() {
        for max_log_bytes in [64 * 1024, 1 << 20, 1 << 24, 1 << 26, u64::MAX] {
            let plan = LogCopies::new(max_log_bytes);
            let bytes = u64::from(plan.at_last()) * (FRAME_HEADER_BYTES + USUAL_PAGE_BYTES);
            assert!(bytes < max_log_bytes, "{max_log_bytes}");
            assert!(plan.few() < plan.begin_anew_at(), "{max_log_bytes}");
        }
        assert_eq!(plan().copy_at, COPY_AT);
        assert_eq!(LogCopies::new(0).copy_at, 1);
    }
}
