//! What the caller says: frames, pins, relocations, values slid live.

#[cfg(doc)]
use crate::Cloth;
use crate::cloth::settings::Settings;
use crate::cloth::substeps::Substeps;
use crate::stage::wind::Wind;

/// What the caller says about one frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameInput<'a> {
    /// Length of the frame \[s\]; 0 does nothing.
    pub dt: f32,
    /// Where pinned and held vertices shall be at the end of the frame, the latter as far as they are held; substeps go
    /// there in equal parts. Those that are not named stay where they are.
    pub pin_targets: &'a [PinTarget],
}

/// Where a pinned or held vertex shall be at the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PinTarget {
    /// The vertex: one of the mesh's pins, or held by [`Cloth::hold`].
    pub vertex: u32,
    /// Its position \[m\].
    pub position: [f32; 3],
}

/// Settings that [`Cloth::change`] may slide from frame to frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// See [`Settings::strain_limit`]; [`Cloth::change`] says when a smaller one is reached.
    pub strain_limit: f32,
    /// See [`Settings::stretch_min`].
    pub stretch_min: f32,
    /// See [`Settings::stretch_max`].
    pub stretch_max: f32,
    /// See [`Settings::gravity`].
    pub gravity: [f32; 3],
    /// See [`Settings::drag`].
    pub drag: f32,
    /// See [`Settings::wind`]; it may begin and end, too.
    pub wind: Option<Wind>,
    /// See [`Settings::damping`].
    pub damping: f32,
    /// See [`Settings::rest_speed`].
    pub rest_speed: f32,
    /// See [`Settings::substeps`].
    pub substeps: Substeps,
    /// See [`Settings::dispatch_budget`].
    pub dispatch_budget: u64,
}

impl Live {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            strain_limit: settings.strain_limit,
            stretch_min: settings.stretch_min,
            stretch_max: settings.stretch_max,
            gravity: settings.gravity,
            drag: settings.drag,
            wind: settings.wind,
            damping: settings.damping,
            rest_speed: settings.rest_speed,
            substeps: settings.substeps,
            dispatch_budget: settings.dispatch_budget,
        }
    }

    pub(super) fn apply(self, settings: &mut Settings) {
        settings.strain_limit = self.strain_limit;
        settings.stretch_min = self.stretch_min;
        settings.stretch_max = self.stretch_max;
        settings.gravity = self.gravity;
        settings.drag = self.drag;
        settings.wind = self.wind;
        settings.damping = self.damping;
        settings.rest_speed = self.rest_speed;
        settings.substeps = self.substeps;
        settings.dispatch_budget = self.dispatch_budget;
    }
}
