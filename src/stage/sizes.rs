//! What there are how many of: the domains of the fields of cloth.

use crate::engine::fields::{Domain, Sizes};
use crate::engine::layout::GROUP;
use crate::mesh::{Face, Mesh};
use crate::solid::Solid;

impl Domain {
    /// One element per vertex.
    pub const VERTICES: Self = Self::Counted(0);
    /// One element per inextensible edge, in yarn order.
    pub const EDGES: Self = Self::Counted(1);
    /// One element per spring.
    pub const SPRINGS: Self = Self::Counted(2);
    /// One element per yarn, family by family.
    pub const YARNS: Self = Self::Counted(3);
    /// Words of the vertex → edge incidence.
    pub const EDGE_INCIDENCE: Self = Self::Counted(4);
    /// Words of the vertex → spring incidence.
    pub const SPRING_INCIDENCE: Self = Self::Counted(5);
    /// One element per triangle of the drawn surface.
    pub const TRIANGLES: Self = Self::Counted(6);
    /// Three words per triangle of the drawn surface.
    pub const TRIANGLE_CORNERS: Self = Self::Counted(7);
    /// Words of the vertex → triangle incidence.
    pub const TRIANGLE_INCIDENCE: Self = Self::Counted(8);
    /// Pairs of vertices that bending couples.
    pub const BENDING_PAIRS: Self = Self::Counted(9);
    /// Words of the vertex → bending incidence.
    pub const BEND_INCIDENCE: Self = Self::Counted(10);
    /// One element per hinge.
    pub const HINGES: Self = Self::Counted(11);
    /// One element per solid.
    pub const SOLIDS: Self = Self::Counted(12);
    /// Nodes of all distance grids.
    pub const DISTANCES: Self = Self::Counted(13);
    /// One element per piece of a yarn in a window around pins.
    pub const PIECES: Self = Self::Counted(14);
    /// One element per line of springs.
    pub const DIAGONALS: Self = Self::Counted(15);
    /// One element per inextensible edge where some have limits of their own, else none.
    pub const LIMITS: Self = Self::Counted(16);
    /// One element per piece of a line of springs in a window around pins.
    pub const DIAGONAL_PIECES: Self = Self::Counted(17);
    /// Triangles and edges of the drawn surface, where cloth may touch itself.
    pub const ITEMS: Self = Self::Counted(18);
    /// Buckets of the grids that they are sorted into.
    pub const BUCKETS: Self = Self::Counted(19);
    /// One element per vertex and edge of the surface that looks for others, and one more.
    pub const OWNERS: Self = Self::Counted(20);
    /// One element per pair of parts that are near each other.
    pub const PAIRS: Self = Self::Counted(21);
    /// Blocks of the largest scan.
    pub const BLOCKS: Self = Self::Counted(22);
    /// One element per vertex that may touch others.
    pub const TOUCHING: Self = Self::Counted(23);
    /// Four words per vertex that may touch others.
    pub const PUSHES: Self = Self::Counted(24);
    /// Words of the account of self-collision.
    pub const OWN_METERS: Self = Self::Counted(25);
    /// Patches of the cloth.
    pub const PLOTS: Self = Self::Counted(26);
    /// One element per edge where some have a law of their own, else none.
    pub const LAWS: Self = Self::Counted(28);
    /// Where the vertices of each plot begin, and the vertices.
    pub const PLOT_WORDS: Self = Self::Counted(27);
    /// Words of a host's positions or velocities, where a filter takes them.
    pub const FILTERED: Self = Self::Counted(31);
    /// Patches, then blocks of them.
    pub const PLOT_BOXES: Self = Self::Counted(29);
}

impl Sizes {
    /// Those of a mesh among solids, with so many yarns; there are never more than edges.
    pub fn of_mesh(mesh: &Mesh, solids: &[Solid], yarns: usize) -> Self {
        let (vertices, edges, springs) = (mesh.vertex_count(), mesh.edge_count(), mesh.springs().len());
        let triangles: usize = mesh.faces().iter().map(|face| if matches!(face, Face::Quad(_)) { 2 } else { 1 }).sum();
        let (pairs, hinges) = (mesh.bending_pairs().len(), mesh.hinges().len());
        let lists = vertices + 1;
        Self::default()
            .with(Domain::VERTICES, vertices)
            .with(Domain::EDGES, edges)
            .with(Domain::LIMITS, mesh.edge_limits().len().max(mesh.edge_kinds().len()))
            .with(Domain::LAWS, mesh.edge_kinds().len())
            .with(Domain::SPRINGS, springs)
            .with(Domain::YARNS, yarns)
            // Both ends of a link, with the other end beside a spring's.
            .with(Domain::EDGE_INCIDENCE, lists + 2 * edges)
            .with(Domain::SPRING_INCIDENCE, lists + 4 * springs)
            .with(Domain::TRIANGLES, triangles)
            .with(Domain::TRIANGLE_CORNERS, 3 * triangles)
            .with(Domain::TRIANGLE_INCIDENCE, lists + 3 * triangles)
            .with(Domain::BENDING_PAIRS, pairs)
            // The corners of hinges, or the other end and the weight of pairs.
            .with(Domain::BEND_INCIDENCE, lists + 4 * if hinges > 0 { hinges } else { pairs })
            .with(Domain::HINGES, hinges)
            .with(Domain::SOLIDS, solids.len())
            .with(Domain::DISTANCES, solids.iter().map(|solid| solid.distances().len()).sum())
            .grouped()
    }

    /// With as many groups as the largest reduction needs: over vertices with four words each, edges or springs.
    #[must_use]
    pub(crate) fn grouped(self) -> Self {
        let largest = (4 * self.vertices()).max(self.edges()).max(self.springs());
        self.with(Domain::Groups, largest.div_ceil(GROUP))
    }

    /// Vertices.
    pub fn vertices(&self) -> usize {
        self.of(Domain::VERTICES)
    }

    /// Inextensible edges.
    pub fn edges(&self) -> usize {
        self.of(Domain::EDGES)
    }

    /// Springs.
    pub fn springs(&self) -> usize {
        self.of(Domain::SPRINGS)
    }

    /// Yarns.
    pub fn yarns(&self) -> usize {
        self.of(Domain::YARNS)
    }

    /// Triangles of the drawn surface.
    pub fn triangles(&self) -> usize {
        self.of(Domain::TRIANGLES)
    }

    /// Hinges.
    pub fn hinges(&self) -> usize {
        self.of(Domain::HINGES)
    }

    /// Solids.
    pub fn solids(&self) -> usize {
        self.of(Domain::SOLIDS)
    }

    /// Whether some edges have a law of their own.
    pub(crate) fn lawful(&self) -> bool {
        self.of(Domain::LAWS) > 0
    }

    /// Whether the cloth resists bending.
    pub fn bends(&self) -> bool {
        self.of(Domain::BENDING_PAIRS) > 0
    }
}
