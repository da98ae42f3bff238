//! Lines through a mesh: links, one after another, each the only one that goes on from the one before.
//!
//! [Yarns](crate::mesh::yarns) are lines of edges, [diagonals](crate::mesh::diagonals) lines of springs; they differ in
//! what goes on from what. A line never crosses itself: where it would, it ends.

use std::collections::VecDeque;
use std::ops::Range;

use crate::mesh::Link;
use crate::mesh::coloring::first_gap;

/// For each link the one that goes on at its tail and at its head, `u32::MAX` where the line ends.
fn followers(
    vertex_count: usize,
    links: &[Link],
    apart: impl Fn(u32, u32, u32) -> bool,
    joined: impl Fn(u32, &[u32]) -> Vec<[u32; 2]>,
) -> Vec<[u32; 2]> {
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); vertex_count];
    for (index, link) in links.iter().enumerate() {
        around[link.tail as usize].push(index as u32);
        around[link.head as usize].push(index as u32);
    }
    let mut next = vec![[u32::MAX; 2]; links.len()];
    for (vertex, around) in (0..).zip(&around) {
        let follower = |link: u32| follower(link, around, |other| apart(link, other, vertex));
        let mut loose = Vec::new();
        for &link in around {
            // Both must agree: a line that comes back must find the way it went.
            match follower(link).filter(|on| follower(*on) == Some(link)) {
                Some(on) => next[link as usize][side_of(&links[link as usize], vertex)] = on,
                None => loose.push(link),
            }
        }
        for [link, other] in joined(vertex, &loose) {
            next[link as usize][side_of(&links[link as usize], vertex)] = other;
            next[other as usize][side_of(&links[other as usize], vertex)] = link;
        }
    }
    next
}

/// The only other link at a vertex that is apart from this one.
fn follower(link: u32, around: &[u32], apart: impl Fn(u32) -> bool) -> Option<u32> {
    // A vertex with more than four links is irregular whatever is apart, and nobody need compare all its pairs.
    if around.len() > 4 {
        return None;
    }
    let mut candidates = around.iter().filter(|other| **other != link && apart(**other));
    let first = candidates.next()?;
    if candidates.next().is_some() { None } else { Some(*first) }
}

/// A traced line, by the numbers of its links.
pub(super) struct Path {
    pub(super) links: Vec<u32>,
    /// One more than links; first and last are equal if it is closed.
    pub(super) vertices: Vec<u32>,
}

impl Path {
    pub(super) fn closed(&self) -> bool {
        self.links.len() > 1 && self.vertices.first() == self.vertices.last()
    }
}

/// Traces lines, in the order of their smallest link. At a vertex a link goes on as the only other one there that is
/// `apart` from it, said of two links and the vertex. Of the links at a vertex that end there all the same, `joined`
/// says which pairs go on from each other.
pub(super) fn trace(
    vertex_count: usize,
    links: &[Link],
    apart: impl Fn(u32, u32, u32) -> bool,
    joined: impl Fn(u32, &[u32]) -> Vec<[u32; 2]>,
) -> Vec<Path> {
    let next = followers(vertex_count, links, apart, joined);
    let mut taken = vec![false; links.len()];
    // The path that last came through a vertex: none may cross itself.
    let mut visited = vec![u32::MAX; vertex_count];
    let mut paths: Vec<Path> = Vec::new();
    for seed in 0..links.len() as u32 {
        // More than once where a path that comes from behind crosses itself, and ends, before it is at the seed.
        while !taken[seed as usize] {
            // Back to the start of the line, or once around.
            let (mut link, mut side) = (seed, 0);
            loop {
                let on = next[link as usize][side];
                if on == u32::MAX || on == seed || taken[on as usize] {
                    break;
                }
                let vertex = end(&links[link as usize], side);
                (link, side) = (on, 1 - side_of(&links[on as usize], vertex));
            }
            let closed = next[link as usize][side] == seed && link != seed;
            // Then forwards along it. A closed line starts at the seed, whose tail is its smallest vertex.
            let (mut link, mut side) = if closed { (seed, 1) } else { (link, 1 - side) };
            let number = paths.len() as u32;
            let start = end(&links[link as usize], 1 - side);
            let mut path = Path { links: Vec::new(), vertices: vec![start] };
            loop {
                taken[link as usize] = true;
                let vertex = end(&links[link as usize], side);
                path.links.push(link);
                path.vertices.push(vertex);
                visited[vertex as usize] = number;
                let on = next[link as usize][side];
                if on == u32::MAX || taken[on as usize] || vertex == start {
                    break;
                }
                (link, side) = (on, 1 - side_of(&links[on as usize], vertex));
                let ahead = end(&links[link as usize], side);
                if visited[ahead as usize] == number && ahead != start {
                    break;
                }
            }
            paths.push(path);
        }
    }
    paths
}

/// Vertex at side 0 (tail) or 1 (head).
fn end(link: &Link, side: usize) -> u32 {
    if side == 0 { link.tail } else { link.head }
}

fn side_of(link: &Link, vertex: u32) -> usize {
    usize::from(link.head == vertex)
}

/// Lines in families: two lines with a common vertex are in different ones.
pub(super) struct Laid {
    /// The links family by family, line by line, each directed along its line.
    pub(super) links: Vec<Link>,
    /// For each of them its number before.
    pub(super) canonical: Vec<u32>,
    /// A range of `links` for each line, and whether it is closed; family by family.
    pub(super) lines: Vec<(Range<u32>, bool)>,
    /// Ranges of `lines`.
    pub(super) families: Vec<Range<u32>>,
}

/// Sorts traced lines into families.
pub(super) fn lay(vertex_count: usize, links: &[Link], paths: &[Path]) -> Laid {
    let family_of = assign(vertex_count, paths);
    let count = family_of.iter().max().map_or(0, |most| most + 1);
    let mut laid = Laid { links: Vec::new(), canonical: Vec::new(), lines: Vec::new(), families: Vec::new() };
    for family in 0..count {
        let first = laid.lines.len() as u32;
        for (path, _) in paths.iter().zip(&family_of).filter(|(_, of)| **of == family) {
            let start = laid.links.len() as u32;
            for (step, &link) in path.links.iter().enumerate() {
                let (tail, head) = (path.vertices[step], path.vertices[step + 1]);
                laid.links.push(Link { tail, head, ..links[link as usize] });
                laid.canonical.push(link);
            }
            laid.lines.push((start..laid.links.len() as u32, path.closed()));
        }
        laid.families.push(first..laid.lines.len() as u32);
    }
    laid
}

/// Family of each path: breadth first from the first path of each piece, the smallest family that no path with a common
/// vertex has. Where two families suffice for a piece, that finds them.
fn assign(vertex_count: usize, paths: &[Path]) -> Vec<u32> {
    let mut at: Vec<Vec<u32>> = vec![Vec::new(); vertex_count];
    for (index, path) in paths.iter().enumerate() {
        for &vertex in &path.vertices {
            if at[vertex as usize].last() != Some(&(index as u32)) {
                at[vertex as usize].push(index as u32);
            }
        }
    }
    let mut family = vec![u32::MAX; paths.len()];
    // Families of the paths at a vertex, ascending, and whether all of them have been put into the queue: so the work
    // is linear however many paths meet.
    let mut used: Vec<Vec<u32>> = vec![Vec::new(); vertex_count];
    let mut seen = vec![false; vertex_count];
    let mut queue = VecDeque::new();
    for root in 0..paths.len() as u32 {
        if family[root as usize] != u32::MAX {
            continue;
        }
        queue.push_back(root);
        while let Some(path) = queue.pop_front() {
            if family[path as usize] != u32::MAX {
                continue;
            }
            let vertices = || paths[path as usize].vertices.iter().map(|vertex| *vertex as usize);
            // The smallest that is free at one vertex after another, until nothing changes.
            let mut free = 0;
            loop {
                let next = vertices().fold(free, |free, vertex| first_gap(&used[vertex], |family| *family, free));
                if next == free {
                    break;
                }
                free = next;
            }
            family[path as usize] = free;
            for vertex in vertices() {
                if let Err(place) = used[vertex].binary_search(&free) {
                    used[vertex].insert(place, free);
                }
                if !std::mem::replace(&mut seen[vertex], true) {
                    queue.extend(at[vertex].iter().filter(|other| family[**other as usize] == u32::MAX));
                }
            }
        }
    }
    family
}
