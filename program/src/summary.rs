//! What a run reached, as JSON and as a table.

use std::path::Path;
#[cfg(feature = "viewer")]
use std::time::Duration;

use serde_json::{Map, Value, json};
#[cfg(feature = "viewer")]
use taut::Report;
use taut::engine::program::Phase;
use taut::scene::Noise;
use taut::stage::phase;
use taut::{Cloth, Substeps};

use crate::mesh::Origin;
use crate::output::{count, duration, mean, percent, significant, table};
use crate::rows::Row;

/// Version of the JSON: it grows when a key changes its meaning or goes.
const SCHEMA_VERSION: u32 = 1;

/// What the JSON has, for machines: `taut run --schema`.
pub(crate) const SCHEMA: &str = include_str!("report.schema.json");

/// What was simulated and where.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) on_gpu: bool,
    pub(crate) reason: String,
    pub(crate) adapter: Option<String>,
    pub(crate) scene: String,
    /// The file it comes from.
    pub(crate) file: Option<String>,
    pub(crate) solver: &'static str,
    /// Where one number says it.
    pub(crate) size: Option<u32>,
    /// Of somebody's own mesh.
    pub(crate) origin: Option<Origin>,
    pub(crate) vertices: usize,
    pub(crate) edges: usize,
    /// As it was typed.
    pub(crate) strain_limit: f64,
    /// The smallest and the largest that edges have instead.
    pub(crate) own_limits: Option<[f64; 2]>,
    /// Whether it keeps from passing through itself.
    pub(crate) touches_itself: bool,
    /// Those of `--solid`, as they were asked for.
    pub(crate) solids: Value,
    pub(crate) fps: f64,
    /// Frames that were simulated before this run.
    pub(crate) first_frame: u64,
    /// How springs are integrated.
    pub(crate) elasticity: &'static str,
    pub(crate) substeps_asked: Substeps,
    /// What was drawn, and by what.
    pub(crate) picture: Option<String>,
    /// That of the start positions.
    pub(crate) noise: Option<Noise>,
    /// What may not be as it was meant.
    pub(crate) hint: Option<&'static str>,
}

impl Subject {
    /// What is allowed elsewhere, in words.
    fn other_limits(&self) -> String {
        match self.own_limits {
            None => String::new(),
            Some([least, most]) if least == most => format!(", and {} in another fabric,", percent(least)),
            Some([least, most]) => format!(", and {} to {} in other fabrics,", percent(least), percent(most)),
        }
    }
}

/// What the frames reached together. Strains are those the host recomputed in f64 from the positions that are written.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    frames: u32,
    frames_over: u32,
    rejected_frames: u32,
    missed_substeps: u64,
    edges_over: usize,
    infeasible_edges: usize,
    /// Vertices that touch a solid, in one frame.
    contacts: Option<u64>,
    strain_max: f64,
    strain_p99: f64,
    /// Within woven triangles: the largest, and the 99th percentile.
    threads: Option<[f64; 2]>,
    /// By the device, before the last collision passes.
    strain_before_contact: f32,
    /// Of each phase of the steps on the CPU.
    phase_seconds: [f64; phase::ALL.len()],
    worst_frame: u32,
    iterations: u64,
    inner_iterations: u64,
    elastic_iterations: u64,
    substeps: u64,
    load: f32,
    dispatches: u64,
    crossings: Crossings,
    own: Own,
    seconds: Vec<f64>,
}

/// What self-collision did: the most pairs of a frame, and sums over all frames.
#[derive(Debug, Default)]
struct Own {
    pairs: u64,
    overflowed: u64,
    trimmed: u64,
    speed_limited: u64,
    forced: u64,
    pinched: u64,
}

impl Own {
    fn add_row(&mut self, row: &Row) {
        self.pairs = self.pairs.max(row.pairs.unwrap_or_default());
        self.overflowed += row.overflowed.unwrap_or_default();
        self.trimmed += row.trimmed.unwrap_or_default();
        self.speed_limited += row.speed_limited.unwrap_or_default();
        self.forced += row.forced.unwrap_or_default();
        self.pinched += row.pinched.unwrap_or_default();
    }

    fn json(&self) -> Value {
        let Self { pairs, overflowed, trimmed, speed_limited, forced, pinched } = *self;
        json!({
            "pairs": pairs,
            "overflowed": overflowed,
            "trimmed": trimmed,
            "speed_limited": speed_limited,
            "forced": forced,
            "pinched": pinched,
        })
    }
}

/// Where the cloth passed through itself, in the frames that were looked at.
#[derive(Debug, Default)]
struct Crossings {
    frames: u32,
    frames_crossed: u32,
    /// In one frame, and which.
    most: u64,
    worst_frame: u32,
    /// In the last frame.
    left: u64,
    /// \[m\]
    nearest: Option<f64>,
}

impl Crossings {
    fn add_row(&mut self, row: &Row, frame: u32) {
        let Some(crossings) = row.crossings else { return };
        self.frames += 1;
        self.left = crossings;
        self.frames_crossed += u32::from(crossings > 0);
        if crossings > self.most {
            (self.most, self.worst_frame) = (crossings, frame);
        }
        self.nearest = [self.nearest, row.nearest].into_iter().flatten().reduce(f64::min);
    }

    /// In words.
    fn sentence(&self) -> String {
        let crossings = match self.most {
            0 => "none".to_owned(),
            most => format!("{} in frame {}", count(most), self.worst_frame),
        };
        let frames = format!("{} of {} frames have some", count(self.frames_crossed.into()), count(self.frames.into()));
        match self.nearest {
            Some(nearest) if self.most == 0 => format!("{crossings}; nearest {} mm", significant(1e3 * nearest, 3)),
            _ if self.most == 0 => crossings,
            _ => format!(
                "{crossings}; {frames}; {} in the last",
                if self.left == 0 { "none".into() } else { count(self.left) }
            ),
        }
    }
}

impl Tally {
    /// Adds a frame; `time` is what the step took, without read-back and files.
    #[cfg(feature = "viewer")]
    pub(crate) fn add(&mut self, report: &Report, time: Duration) {
        self.add_row(&Row::new(report, time));
    }

    /// Adds a frame.
    pub(crate) fn add_row(&mut self, row: &Row) {
        self.frames += 1;
        self.frames_over += u32::from(row.over);
        self.rejected_frames += u32::from(row.rejected);
        self.missed_substeps += u64::from(row.missed_substeps);
        if let Some(strain) = row.strain_max
            && (strain > self.strain_max || self.worst_frame == 0)
        {
            (self.strain_max, self.worst_frame) = (strain, self.frames);
        }
        self.strain_p99 = self.strain_p99.max(row.strain_p99.unwrap_or_default());
        if let (Some(max), Some(p99)) = (row.thread_strain_max, row.thread_strain_p99) {
            let [worst_max, worst_p99] = self.threads.unwrap_or([max, p99]);
            self.threads = Some([worst_max.max(max), worst_p99.max(p99)]);
        }
        self.edges_over = self.edges_over.max(row.edges_over);
        self.infeasible_edges = self.infeasible_edges.max(row.infeasible_edges);
        self.contacts = self.contacts.max(row.contacts);
        self.strain_before_contact = self.strain_before_contact.max(row.strain_before_contact);
        self.iterations += u64::from(row.iterations);
        self.inner_iterations += u64::from(row.inner_iterations);
        self.elastic_iterations += u64::from(row.elastic_iterations);
        self.substeps += u64::from(row.substeps);
        self.load = self.load.max(row.load);
        self.dispatches += row.dispatches;
        self.crossings.add_row(row, self.frames);
        self.own.add_row(row);
        self.seconds.push(row.wall_seconds);
    }

    /// Adds where the time of a frame went.
    pub(crate) fn add_phases(&mut self, cloth: &Cloth) {
        for (sum, phase) in self.phase_seconds.iter_mut().zip(phase::ALL) {
            *sum += cloth.phase_seconds(phase);
        }
    }

    /// Where the time went on the CPU, by the names of the phases \[s\].
    pub(crate) fn phases(&self) -> Map<String, Value> {
        let named = |(phase, seconds): (Phase, f64)| (phase.name.to_owned(), seconds.into());
        phase::ALL.into_iter().zip(self.phase_seconds).map(named).collect()
    }

    /// Adds what [`Tally::phases`] told.
    pub(crate) fn add_past_phases(&mut self, seconds: &Map<String, Value>) {
        for (sum, phase) in self.phase_seconds.iter_mut().zip(phase::ALL) {
            *sum += seconds.get(phase.name).and_then(Value::as_f64).unwrap_or_default();
        }
    }

    pub(crate) fn frames(&self) -> u32 {
        self.frames
    }

    #[cfg(feature = "viewer")]
    pub(crate) fn frames_over(&self) -> u32 {
        self.frames_over
    }

    pub(crate) fn strain_max(&self) -> f64 {
        self.strain_max
    }

    /// What is known of crossings: nothing, where a frame was not looked at.
    fn crossings(&self) -> Option<&Crossings> {
        (self.crossings.frames > 0 && self.crossings.frames == self.frames).then_some(&self.crossings)
    }

    fn per_frame(&self, total: u64) -> f64 {
        total as f64 / f64::from(self.frames.max(1))
    }

    fn median_seconds(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_unstable_by(f64::total_cmp);
        match (seconds.len(), seconds.len() / 2) {
            (0, _) => 0.0,
            (count, middle) if count % 2 == 0 => f64::midpoint(seconds[middle - 1], seconds[middle]),
            (_, middle) => seconds[middle],
        }
    }
}

/// The amplitude \[m\] as it was typed, not what f64 makes of its f32.
fn noise_json(Noise { amplitude, seed }: Noise) -> Value {
    let amplitude: f64 = amplitude.to_string().parse().unwrap_or(amplitude.into());
    json!({ "amplitude": amplitude, "seed": seed })
}

/// A finished run.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) subject: Subject,
    pub(crate) tally: Tally,
    /// Whether all frames were simulated that were asked for.
    pub(crate) complete: bool,
    /// From the start of the program to its last frame, with everything \[s\].
    pub(crate) wall_seconds: f64,
}

impl Summary {
    /// `substeps`, `iterations`, `inner_iterations`, `elastic_iterations` and `dispatches_per_frame` are means over the
    /// frames, `seconds_per_frame` is the median; `missed_substeps` counts those of the whole run that the device left
    /// over the limit; `phase_seconds` says where the time of the whole run went on the CPU. [`SCHEMA`] has them all.
    pub(crate) fn json(&self) -> Value {
        let Self { subject, tally, complete, wall_seconds } = self;
        let mut report = json!({
            "schema_version": SCHEMA_VERSION,
            "backend": self.backend(),
            "reason": subject.reason,
            "adapter": subject.adapter,
            "scene": subject.scene,
            "solver": subject.solver,
            "vertices": subject.vertices,
            "edges": subject.edges,
            "strain_limit": subject.strain_limit,
            "strain_max": tally.strain_max,
            "strain_p99": tally.strain_p99,
            "thread_strain_max": tally.threads.map(|[max, _]| max),
            "thread_strain_p99": tally.threads.map(|[_, p99]| p99),
            "strain_before_contact": tally.strain_before_contact,
            "frames": tally.frames,
            "frames_over": tally.frames_over,
            "substeps": tally.per_frame(tally.substeps),
            "load_max": tally.load,
            "elasticity": subject.elasticity,
            "elastic_iterations": tally.per_frame(tally.elastic_iterations),
            "iterations": tally.per_frame(tally.iterations),
            "dispatches_per_frame": tally.per_frame(tally.dispatches),
            "seconds_per_frame": tally.median_seconds(),
            "phase_seconds": tally.phases(),
            "wall_seconds": wall_seconds,
            "size": subject.size,
            "fps": subject.fps,
            "first_frame": subject.first_frame,
            "seconds": f64::from(tally.frames) / subject.fps,
            "worst_frame": tally.worst_frame,
            "inner_iterations": tally.per_frame(tally.inner_iterations),
            "missed_substeps": tally.missed_substeps,
            "rejected_frames": tally.rejected_frames,
            "infeasible_edges": tally.infeasible_edges,
            "picture": subject.picture,
            "file": subject.file,
            "noise": subject.noise.map(noise_json),
            "hint": subject.hint,
            "complete": complete,
            "import": subject.origin.as_ref().map(Origin::json),
        });
        let crossings = tally.crossings();
        // The macro above takes no more fields at once.
        report["own_strain_limits"] = subject.own_limits.map(Vec::from).into();
        report["solids"] = subject.solids.clone();
        report["edges_over"] = tally.edges_over.into();
        report["contacts"] = tally.contacts.into();
        report["crossings"] = crossings.map(|crossings| crossings.most).into();
        report["crossings_left"] = crossings.map(|crossings| crossings.left).into();
        report["frames_crossed"] = crossings.map(|crossings| crossings.frames_crossed).into();
        report["nearest"] = crossings.and_then(|crossings| crossings.nearest).into();
        report["untangled"] = crossings.map(|crossings| crossings.frames_crossed == 0).into();
        report["self_collision"] = subject.touches_itself.then(|| tally.own.json()).into();
        report
    }

    /// What people want to know, with the files that were written, if any; `verbose` adds what the solver did.
    pub(crate) fn table(&self, files: &[&Path], verbose: bool) -> String {
        let Self { subject, tally, .. } = self;
        let scene = match (subject.scene.as_str(), subject.size, &subject.file) {
            (name, _, Some(file)) => format!("{name}, from {file}"),
            ("chain", Some(size), _) => format!("chain, {size} vertices"),
            (name, Some(size), _) => format!("{name}, {size} × {size}"),
            (name, None, _) => name.to_owned(),
        };
        let (vertices, edges) = (count(subject.vertices as u64), count(subject.edges as u64));
        let place = subject.adapter.as_deref().unwrap_or("the CPU");
        let (limit, frames) = (percent(subject.strain_limit), count(tally.frames.into()));
        let limit = format!("{limit}{}", subject.other_limits());
        let worst = format!("{} in frame {}, where {limit} is allowed", self.worst_strain(), tally.worst_frame);
        let over = format!("{} of {frames} frames", count(tally.frames_over.into()));
        let seconds = significant(f64::from(tally.frames) / subject.fps, 4);
        let each = duration(tally.median_seconds());
        let time = format!("{seconds} s of cloth in {}; a frame takes {each}", duration(self.wall_seconds));
        let mut rows = vec![("scene", scene), ("cloth", format!("{vertices} vertices, {edges} edges"))];
        rows.extend(subject.origin.as_ref().map(|origin| ("imported", origin.sentence())));
        rows.extend([("computed on", format!("{place}: {}", subject.reason)), ("worst strain", worst)]);
        if let Some([max, p99]) = tally.threads {
            rows.push(("within triangles", format!("{} at most, 99 % below {}", percent(max), percent(p99))));
        }
        rows.push(("over the limit", over));
        rows.extend(tally.crossings().map(|crossings| ("crossings", crossings.sentence())));
        rows.push(("time", time));
        if verbose {
            rows.extend(self.details());
        }
        if let Some(Noise { amplitude, seed }) = subject.noise {
            rows.push(("noise", format!("{amplitude:e} m, seed {seed}")));
        }
        rows.extend(subject.hint.map(|hint| ("hint", hint.to_owned())));
        rows.extend(subject.picture.clone().map(|picture| ("picture", picture)));
        if !files.is_empty() {
            rows.push(("written", files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")));
        }
        table(rows.into_iter().map(|(name, value)| [name.to_owned(), value]), 100)
    }

    /// What the solver did, for those who know it.
    fn details(&self) -> Vec<(&'static str, String)> {
        let Self { subject, tally, .. } = self;
        let asked = if subject.substeps_asked == Substeps::Auto { " (auto)" } else { "" };
        let inner = match tally.inner_iterations {
            0 => String::new(),
            total => format!(", with {} of linear solves", mean(tally.per_frame(total))),
        };
        let elastic = match tally.elastic_iterations {
            0 => String::new(),
            total => format!(", {} of implicit shear", mean(tally.per_frame(total))),
        };
        let missed = match tally.missed_substeps {
            0 => String::new(),
            missed => format!("; {} in all ended over what they may", count(missed)),
        };
        vec![
            ("solver", subject.solver.to_owned()),
            ("substeps", format!("{} per frame{asked}{missed}", mean(tally.per_frame(tally.substeps)))),
            ("largest load", format!("s = {:.3}", tally.load)),
            ("iterations", format!("{} per frame{inner}{elastic}", mean(tally.per_frame(tally.iterations)))),
            ("dispatches", format!("{} per frame", mean(tally.per_frame(tally.dispatches)))),
        ]
    }

    /// What is wrong with the result, in words; `None` if every frame kept to the limit, and no cloth passed through
    /// itself that should not.
    pub(crate) fn complaint(&self) -> Option<String> {
        let complaints: Vec<String> = [self.stretched(), self.crossed()].into_iter().flatten().collect();
        (!complaints.is_empty()).then(|| complaints.join("; "))
    }

    /// That cloth passed through itself which should not.
    fn crossed(&self) -> Option<String> {
        let Self { subject, tally, .. } = self;
        let crossings = &tally.crossings;
        if !subject.touches_itself || crossings.frames_crossed == 0 {
            return None;
        }
        let mut text = format!(
            "{} of {} frames have cloth that passes through itself: {} crossings in frame {}",
            crossings.frames_crossed, tally.frames, crossings.most, crossings.worst_frame,
        );
        if tally.own.forced > 0 {
            let forced = tally.own.forced;
            text.push_str(&format!("; {forced} times a vertex that is held was driven into cloth"));
        }
        Some(text)
    }

    /// That frames are over the limit.
    fn stretched(&self) -> Option<String> {
        let Self { subject, tally, .. } = self;
        if tally.frames_over == 0 {
            return None;
        }
        let mut text = format!(
            "{} of {} frames are over the strain limit of {}{}: the worst strain is {} in frame {}",
            tally.frames_over,
            tally.frames,
            percent(subject.strain_limit),
            subject.other_limits(),
            self.worst_strain(),
            tally.worst_frame,
        );
        if tally.infeasible_edges > 0 {
            let edges = tally.infeasible_edges;
            text.push_str(&format!("; {edges} edges between two pins are over it too, which no solver can change"));
        }
        if tally.rejected_frames > 0 {
            let frames = tally.rejected_frames;
            text.push_str(&format!("; {frames} frames were cut short where a value was not finite"));
        }
        Some(text)
    }

    fn backend(&self) -> &'static str {
        if self.subject.on_gpu { "gpu" } else { "cpu" }
    }

    /// With more digits than usual where it would otherwise look equal to the limit it is not within.
    fn worst_strain(&self) -> String {
        let (worst, limit) = (self.tally.strain_max, self.subject.strain_limit);
        let short = percent(worst);
        if worst > limit && short == percent(limit) { format!("{} %", worst * 100.0) } else { short }
    }
}
