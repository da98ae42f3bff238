//! Loops shortened until a program fits a budget of dispatches.

use super::program::{Item, Program, Repeat, count, count_with};

impl Program {
    /// Number of dispatches with every loop that a budget may shorten at four iterations, and at sixteen where it ends
    /// the frame: what usually suffices where the load is small.
    pub fn enough_count(&self) -> u64 {
        let short = |most: u32| move |repeat: &Repeat| bound(repeat, if YIELDING(repeat) { KEEP } else { most });
        let last = self.items.iter().rposition(|item| matches!(item, Item::Repeat(_)));
        let each = self.items.iter().enumerate().map(|(index, item)| match item {
            // Loops of the last substep itself, not those inside them.
            Item::Repeat(repeat) if Some(index) == last && !repeat.negotiable => {
                let body = repeat.body.iter().map(|item| match item {
                    Item::Dispatch(_) => 1,
                    Item::Repeat(inner) => {
                        let times = short(KEEP_LAST)(inner);
                        count_with(&inner.body, &short(KEEP)).saturating_mul(times.into())
                    }
                });
                body.fold(0u64, u64::saturating_add).saturating_mul(repeat.at_most.into())
            }
            item => count_with(std::slice::from_ref(item), &short(KEEP)),
        });
        each.fold(0, u64::saturating_add)
    }

    /// Number of dispatches with every loop that a budget may shorten at one iteration: the least that fits.
    pub fn least_count(&self) -> u64 {
        count_with(&self.items, &|repeat| bound(repeat, 1))
    }

    /// Lowers the bounds of the loops until at most `budget` dispatches are left. They are halved in this order:
    ///
    /// 1. Loops of phases that yield, down to four iterations (implicit elastic solves: what they leave is a softer
    ///    force).
    /// 2. Outer loops, down to four iterations: an unfinished outer loop shows in the strain, and in the report. An
    ///    unfinished inner one is a wrong motion that nothing shows.
    /// 3. Inner loops, down to one iteration; then outer ones, down to one.
    ///
    /// Returns the number of dispatches left, which is over the budget if one iteration of everything does not fit.
    pub fn fit(&mut self, budget: u64) -> u64 {
        let depth = depth(&self.items);
        let wanted = self.items.clone();
        let yielding = (0..depth).map(|level| (level, KEEP, YIELDING));
        let outer_first = (0..depth).map(|level| (level, KEEP, ANY));
        let inner_first = (0..depth).rev().map(|level| (level, 1, ANY));
        for (level, least, which) in yielding.chain(outer_first).chain(inner_first) {
            while self.dispatch_count() > budget && halve(&mut self.items, level, least, which) {}
        }
        // Halving leaves up to half of the budget unused: give it back, inner loops first, those that yield last.
        for which in [OTHER, YIELDING] {
            for level in (0..depth).rev() {
                let mut before = self.items.clone();
                while grow(&mut self.items, &wanted, level, which) && self.dispatch_count() <= budget {
                    before.clone_from(&self.items);
                }
                self.items = before;
            }
            // What is left goes to single loops, those of the last substep first: what it leaves is seen.
            let mut left = budget.saturating_sub(self.dispatch_count());
            for (item, wanted) in self.items.iter_mut().zip(&wanted).rev() {
                left = spend(std::slice::from_mut(item), std::slice::from_ref(wanted), left, which);
            }
        }
        self.dispatch_count()
    }
}

/// A choice of loops.
type Which = fn(&Repeat) -> bool;
const ANY: Which = |_| true;
const YIELDING: Which = |repeat| matches!(repeat.body.first(), Some(Item::Dispatch(first)) if first.phase.yields);
const OTHER: Which = |repeat| !YIELDING(repeat);

/// Iterations of a loop that are kept while another loop can be shortened.
const KEEP: u32 = 4;
/// The same at the end of a frame, where the limit must hold.
const KEEP_LAST: u32 = 16;

/// Bound of a loop of which at most so many iterations are kept.
fn bound(repeat: &Repeat, most: u32) -> u32 {
    if repeat.negotiable { repeat.at_most.min(most) } else { repeat.at_most }
}

/// How deep loops are nested.
fn depth(items: &[Item]) -> usize {
    let deeper = |item: &Item| if let Item::Repeat(repeat) = item { 1 + depth(&repeat.body) } else { 0 };
    items.iter().map(deeper).max().unwrap_or(0)
}

/// Halves the negotiable loops of one level of nesting, not below `least`; reports whether there was any.
fn halve(items: &mut [Item], level: usize, least: u32, which: Which) -> bool {
    let mut any = false;
    for item in items {
        let Item::Repeat(repeat) = item else { continue };
        if level > 0 {
            any |= halve(&mut repeat.body, level - 1, least, which);
        } else if repeat.negotiable && which(repeat) && repeat.at_most > least {
            repeat.at_most = (repeat.at_most / 2).max(least);
            any = true;
        }
    }
    any
}

/// Lengthens single loops by what is left of a budget, the first first; returns what is left then.
fn spend(items: &mut [Item], wanted: &[Item], mut left: u64, which: Which) -> u64 {
    for (item, wanted) in items.iter_mut().zip(wanted) {
        let (Item::Repeat(repeat), Item::Repeat(wanted)) = (item, wanted) else { continue };
        let each = count(&repeat.body).max(1);
        if !repeat.negotiable {
            let times = u64::from(repeat.at_most.max(1));
            left = times * spend(&mut repeat.body, &wanted.body, left / times, which) + left % times;
        } else if which(repeat) {
            let more = (left / each).min(u64::from(wanted.at_most - repeat.at_most));
            repeat.at_most += more as u32;
            left -= more * each;
        }
    }
    left
}

/// One more iteration for the negotiable loops of one level that have less than they wanted; reports whether any had.
fn grow(items: &mut [Item], wanted: &[Item], level: usize, which: Which) -> bool {
    let mut any = false;
    for (item, wanted) in items.iter_mut().zip(wanted) {
        let (Item::Repeat(repeat), Item::Repeat(wanted)) = (item, wanted) else { continue };
        if level > 0 {
            any |= grow(&mut repeat.body, &wanted.body, level - 1, which);
        } else if repeat.negotiable && which(repeat) && repeat.at_most < wanted.at_most {
            repeat.at_most += 1;
            any = true;
        }
    }
    any
}
