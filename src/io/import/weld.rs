//! Which vertices are in the same place.

use std::collections::HashMap;

use glam::DVec3;

/// For each position the first of those it is welded to, which may be itself.
///
/// The maps are only looked up, never walked through: the result does not depend on their order.
pub(super) fn weld(positions: &[[f32; 3]], part: Option<f32>) -> Vec<u32> {
    let Some(part) = part else { return (0..positions.len() as u32).collect() };
    let points: Vec<DVec3> = positions.iter().map(|position| DVec3::from_array(position.map(f64::from))).collect();
    let low = points.iter().fold(DVec3::INFINITY, |low, point| low.min(*point));
    let high = points.iter().fold(DVec3::NEG_INFINITY, |high, point| high.max(*point));
    let distance = f64::from(part) * (high - low).length();
    if distance > 0.0 { near(&points, low, distance) } else { equal(positions) }
}

fn equal(positions: &[[f32; 3]]) -> Vec<u32> {
    let mut first = HashMap::with_capacity(positions.len());
    // Adding zero turns −0 into 0.
    let key = |position: &[f32; 3]| position.map(|coordinate| (coordinate + 0.0).to_bits());
    positions.iter().zip(0..).map(|(position, index)| *first.entry(key(position)).or_insert(index)).collect()
}

/// Each point goes to the nearest of the chosen ones within `distance`; where there is none it is chosen itself. There
/// are no chains: all points of a group are within the distance of the chosen one.
fn near(points: &[DVec3], low: DVec3, distance: f64) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    // Chosen points are at least the distance apart, so a cell of that size holds few of them, whatever the file.
    let mut cells: HashMap<[i64; 3], u32> = HashMap::new();
    let mut next = vec![NONE; points.len()];
    let mut roots = Vec::with_capacity(points.len());
    for (index, point) in points.iter().enumerate() {
        let [x, y, z] = ((*point - low) / distance).to_array().map(|coordinate| coordinate as i64);
        let mut best = (distance, NONE);
        for dx in -1..=1 {
            for dy in -1..=1 {
                for dz in -1..=1 {
                    let mut other = cells.get(&[x + dx, y + dy, z + dz]).copied().unwrap_or(NONE);
                    while other != NONE {
                        let apart = point.distance(points[other as usize]);
                        if apart < best.0 || (apart == best.0 && other < best.1) {
                            best = (apart, other);
                        }
                        other = next[other as usize];
                    }
                }
            }
        }
        if best.1 == NONE {
            best.1 = index as u32;
            next[index] = cells.insert([x, y, z], index as u32).unwrap_or(NONE);
        }
        roots.push(best.1);
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_places_are_one_and_nothing_else() {
        let positions = [[0.0, 1.0, 2.0], [-0.0, 1.0, 2.0], [0.0, 1.0, 2.000_000_2], [0.0, 1.0, 2.0]];
        assert_eq!(weld(&positions, Some(0.0)), [0, 0, 2, 0]);
        assert_eq!(weld(&positions, None), [0, 1, 2, 3]);
    }

    #[test]
    fn near_places_go_to_the_nearest_without_chains() {
        // The box has a diagonal of 10, the distance is 0.01.
        let row = [0.0, 0.006, 0.012, 0.018, 10.0, 9.993].map(|x| [x, 0.0, 0.0]);
        assert_eq!(weld(&row, Some(0.001)), [0, 0, 2, 2, 4, 4]);
        // Far from the origin the cells are still those of the box.
        let far = row.map(|[x, ..]| [x, 1e4, 0.0]);
        assert_eq!(weld(&far, Some(0.001)), [0, 0, 2, 2, 4, 4]);
    }
}
