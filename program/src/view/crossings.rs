//! How often the cloth in the window passes through itself.

use std::time::{Duration, Instant};

use taut::Mesh;
use taut::mesh::surface::Surface;

/// Time between two counts of cloth that is played, at least; and this many times what the last one took, so that
/// counting takes less than a tenth of the time however large the cloth is.
const PAUSE: Duration = Duration::from_millis(250);
const SHARE: u32 = 10;

/// What was found in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) crossings: u64,
    /// The frame since the start of the scene.
    pub(super) frame: u64,
}

/// Counts, exactly, from positions that were read back: every frame that is stepped by hand, some of those played.
#[derive(Debug)]
pub(super) struct Counter {
    surface: Surface,
    found: Option<Found>,
    /// Not before this.
    next: Instant,
}

impl Counter {
    pub(super) fn new(mesh: &Mesh) -> Self {
        Self { surface: Surface::new(mesh), found: None, next: Instant::now() }
    }

    /// What was found last; nothing where it could not be counted.
    pub(super) fn found(&self) -> Option<Found> {
        self.found
    }

    /// What was found is of a time that did not come to be.
    pub(super) fn forget(&mut self) {
        (self.found, self.next) = (None, Instant::now());
    }

    /// Counts, unless this frame is known, or a frame that is played comes too soon.
    pub(super) fn look(&mut self, frame: u64, positions: &[[f32; 3]], playing: bool) {
        let clock = Instant::now();
        if self.found.is_some_and(|found| found.frame == frame) || playing && clock < self.next {
            return;
        }
        let crossings = self.surface.count_crossings(positions).ok();
        self.found = crossings.map(|crossings| Found { crossings, frame });
        self.next = Instant::now() + PAUSE.max(SHARE * clock.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut::scene;

    #[test]
    fn frames_that_are_played_are_counted_now_and_then() {
        let scene = scene::sheet(5).unwrap();
        let mut counter = Counter::new(&scene.mesh);
        assert_eq!(counter.found(), None);
        let flat = scene.start.clone();
        let mut folded = flat.clone();
        // A corner goes down through the middle.
        folded[0] = [0.55, -0.2, 0.6];
        folded[1] = [0.5, 0.2, 0.55];
        counter.look(0, &flat, true);
        assert_eq!(counter.found(), Some(Found { crossings: 0, frame: 0 }));
        // As a count that took very long leaves it.
        counter.next = Instant::now() + Duration::from_secs(1000);
        counter.look(1, &folded, true);
        assert_eq!(counter.found(), Some(Found { crossings: 0, frame: 0 }), "too soon");
        counter.look(1, &folded, false);
        let found = counter.found().unwrap();
        assert!(found.crossings > 0 && found.frame == 1);
        // The same frame of another time is another one, and what cannot be counted is not known.
        counter.forget();
        counter.look(1, &flat, true);
        assert_eq!(counter.found(), Some(Found { crossings: 0, frame: 1 }));
        counter.look(2, &[[f32::NAN; 3]; 25], false);
        assert_eq!(counter.found(), None);
    }
}
