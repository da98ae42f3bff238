//! Figure 2: four steps of one edge that SHAKE cannot do, drawn from what the methods find.
//!
//! An edge of 1 m is pinned at its tail. SHAKE moves the head along the direction that the edge had at the start of the
//! step; fast projection along that of its own iterate.

use taut::reference::{Failure, FastProjection, Projector, Shake, System};

use super::draw::text;
use super::figures::finding;
use super::record::Finding;
use crate::bench::results::ResultFile;

/// One of them: where the head is at the start of the step and at the end of an unconstrained one \[m\].
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    about: &'static str,
    start: [f64; 2],
    end: [f64; 2],
}

const CASES: [Case; 4] = [
    Case { name: "Q1", about: "the old direction misses the constraint", start: [1.0, 0.0], end: [0.3, 1.5] },
    Case { name: "Q2", about: "the edge has turned by a right angle", start: [1.0, 0.0], end: [0.0, 1.2] },
    Case { name: "Q3", about: "the step ends in the pin; half the step", start: [1.0, 0.0], end: [0.0, 0.0] },
    Case { name: "Q4", about: "the edge had no length at the start", start: [0.0, 0.0], end: [0.8, 0.9] },
];

/// Largest strain to accept.
const LIMIT: f64 = 1e-4;
/// Iterations that are drawn at most.
const ITERATIONS: usize = 8;

/// What the methods found in a case.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    case: Case,
    /// Why SHAKE failed.
    shake: Option<Failure>,
    /// Whether the step had to be halved for fast projection.
    halved: bool,
    /// Where its iterates are, the end of the unconstrained step first.
    iterates: Vec<[f64; 2]>,
}

fn edge(head: [f64; 2]) -> taut::Result<System> {
    System::new(vec![[0.0; 3], [head[0], head[1], 0.0]], vec![0.0, 1.0], vec![(0, 1)], vec![1.0])
}

/// Places of the iterates of fast projection from here.
fn iterates(end: [f64; 2]) -> taut::Result<Result<Vec<[f64; 2]>, Failure>> {
    let mut places = vec![end];
    for budget in 1..=ITERATIONS {
        let mut system = edge(end)?;
        let start = system.positions.clone();
        let mut projector = FastProjection { limit: LIMIT, budget, at_least: 1 };
        let projection = projector.project(&mut system, &start, 1.0);
        if let Some(failure @ (Failure::CollapsedEdge { .. } | Failure::NotFinite)) = projection.failure {
            return Ok(Err(failure));
        }
        let [x, y, _] = system.positions[1];
        places.push([x, y]);
        if projection.failure.is_none() {
            break;
        }
    }
    Ok(Ok(places))
}

/// Solves all of them.
pub(super) fn figure() -> taut::Result<(Vec<Finding>, Vec<Solved>)> {
    let mut findings = Vec::new();
    let mut solved = Vec::new();
    for case in CASES {
        let mut system = edge(case.end)?;
        let start = edge(case.start)?.positions;
        let shake = Shake { limit: LIMIT, ..Default::default() }.project(&mut system, &start, 1.0).failure;
        let (halved, iterates) = match iterates(case.end)? {
            Ok(iterates) => (false, iterates),
            // Half the step, as the appendix says.
            Err(_) => {
                let half = [0, 1].map(|axis| f64::midpoint(case.start[axis], case.end[axis]));
                (true, iterates(half)?.unwrap_or_default())
            }
        };
        let length = iterates.last().map_or(f64::NAN, |[x, y]| x.hypot(*y));
        let count = iterates.len().saturating_sub(1);
        let name = format!("{}: length after {count} iterations of fast projection [m]", case.name);
        findings.push(finding("2", name, length, None));
        solved.push(Solved { case, shake, halved, iterates });
    }
    Ok((findings, solved))
}

/// Side of a panel, and what is above and below them.
const SIDE: f64 = 300.0;
const TOP: f64 = 60.0;
const FOOT: f64 = 36.0;
/// Pixels of a metre, and the pin within a panel.
const SCALE: f64 = 80.0;
const PIN: [f64; 2] = [120.0, 165.0];

/// Four panels: the circle that the head may be on, SHAKE's line, the iterates of fast projection.
pub(super) fn draw(solved: &[Solved], file: &ResultFile) -> String {
    let (width, height) = (2.0 * SIDE + 100.0, TOP + 2.0 * SIDE + FOOT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222222\">\n\
         <title>Four steps of one edge</title>\n\
         <rect x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    svg += &text(12.0, 24.0, 15.0, "Where SHAKE has no solution, and fast projection goes");
    svg +=
        &text(12.0, 44.0, 12.0, "circle: length of the edge; broken line: where SHAKE may move; dots: fast projection");
    for (index, solved) in solved.iter().enumerate() {
        let left = (SIDE + 50.0) * (index % 2) as f64;
        let top = TOP + SIDE * (index / 2) as f64;
        svg += &format!("<g transform=\"translate({left:.0} {top:.0})\">\n{}</g>\n", panel(solved));
    }
    svg += &text(12.0, height - 14.0, 11.0, &file.machine.caption().chars().take(105).collect::<String>());
    svg + "</svg>\n"
}

fn panel(solved: &Solved) -> String {
    let Solved { case, shake, halved, iterates } = solved;
    let place = |[x, y]: [f64; 2]| [PIN[0] + SCALE * x, PIN[1] - SCALE * y];
    let line = |from: [f64; 2], to: [f64; 2], style: &str| {
        let ([x1, y1], [x2, y2]) = (place(from), place(to));
        format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>\n")
    };
    let dot = |at: [f64; 2], radius: f64, color: &str| {
        let [x, y] = place(at);
        format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\"/>\n")
    };
    let mut svg = text(12.0, 16.0, 13.0, &format!("{}: {}", case.name, case.about));
    let [x, y] = place([0.0, 0.0]);
    svg += &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{SCALE}\" fill=\"none\" stroke=\"#999999\"/>\n");
    svg += &line([0.0, 0.0], case.start, "stroke=\"#bbbbbb\" stroke-width=\"3\"");
    let length = case.start[0].hypot(case.start[1]);
    if length > 0.0 {
        let along = case.start.map(|x| x / length);
        let at = |part: f64| [0, 1].map(|axis| case.end[axis] + part * along[axis]);
        svg += &line(at(-1.2), at(1.2), "stroke=\"#c0392b\" stroke-dasharray=\"5 4\"");
    }
    for pair in iterates.windows(2) {
        svg += &line(pair[0], pair[1], "stroke=\"#1d4f73\"");
    }
    for at in iterates {
        svg += &dot(*at, 3.0, "#1d4f73");
    }
    svg += &dot(case.end, 4.5, "#c0392b");
    svg += &dot([0.0, 0.0], 3.5, "#222222");
    let why = shake.map_or_else(|| "no failure".to_owned(), |failure| failure.to_string());
    let short = if why.len() > 44 { why.split(',').next().unwrap_or_default().to_owned() } else { why };
    svg += &text(12.0, SIDE - 34.0, 11.0, &format!("SHAKE: {short}"));
    let lengths: Vec<String> = iterates.iter().map(|[x, y]| format!("{:.4}", x.hypot(*y))).collect();
    let halved = if *halved { "halved: " } else { "" };
    svg + &text(12.0, SIDE - 18.0, 11.0, &format!("{halved}{} m", lengths.join(" → ")))
}
