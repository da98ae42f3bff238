// Triangles and edges sorted into the cells of two grids: a counting sort by a hash of the cell. Sums of integers do
// not depend on their order; what an atomic returns does, so that the sort by `rank_items` follows it.

@group(0) @binding(0) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(1) var<storage, read> features: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> boxes: array<Extent>;
@group(0) @binding(3) var<storage, read_write> extents: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> extent_words: array<f32>; // extents
@group(0) @binding(5) var<storage, read_write> found_nearness: array<Nearness>; // nearness
@group(0) @binding(6) var<storage, read_write> bucket_words: array<u32>; // bucket_starts
@group(0) @binding(7) var<storage, read_write> bucket_starts: array<atomic<u32>>;
@group(0) @binding(8) var<storage, read> bucket_ends: array<u32>; // bucket_starts
@group(0) @binding(9) var<storage, read_write> cells: array<u32>;
@group(0) @binding(10) var<storage, read_write> unordered: array<u32>;
@group(0) @binding(11) var<storage, read_write> sorted: array<Sorted>;

// Boxes around triangles and edges, and the largest radius of each kind.
@compute @workgroup_size(GROUP)
fn measure_items(invocation: Invocation) {
    let i = element(invocation);
    if (!running() || i >= range.end) {
        return;
    }
    let corners = features[i];
    let a = vertices[corners.x].position;
    let b = vertices[corners.y].position;
    // An edge has the third corners of its faces there.
    let c = vertices[select(corners.y, corners.z, i < clearance.triangles)].position;
    var center = 0.5 * (a + b);
    if (i < clearance.triangles) {
        center = THIRD * (a + b + c);
    }
    let radius = max(max(distance(a, center), distance(b, center)), distance(c, center));
    let half = max(max(abs(a - center), abs(b - center)), abs(c - center));
    boxes[i] = Extent(center, radius, half, 0.0);
    atomicMax(&extents[select(1u, 0u, i < clearance.triangles)], bitcast<u32>(radius));
}

// A vertex that is near enough to a triangle, or an edge to another or to a triangle, is in the same cell or in one
// beside it.
@compute @workgroup_size(1)
fn open_grid() {
    if (!running()) {
        return;
    }
    let radius = found_nearness[0].radius;
    let triangle = extent_words[0];
    let edge = extent_words[1];
    let sizes = MARGIN * vec2<f32>(radius + triangle, radius + edge + max(triangle, edge));
    found_nearness[0].inverse_cells = vec2<f32>(1.0, 1.0) / sizes;
    extent_words[0] = 0.0;
    extent_words[1] = 0.0;
}

@compute @workgroup_size(GROUP)
fn clear_buckets(invocation: Invocation) {
    let b = element(invocation);
    if (!running() || b >= range.end) {
        return;
    }
    bucket_words[b] = 0u;
}

@compute @workgroup_size(GROUP)
fn count_items(invocation: Invocation) {
    let i = element(invocation);
    if (!running() || i >= range.end) {
        return;
    }
    let edge = i >= clearance.triangles;
    let inverse = select(nearness.inverse_cells.x, nearness.inverse_cells.y, edge);
    let cell = packed(cell_of(boxes[i].center, inverse));
    cells[i] = cell;
    atomicAdd(&bucket_starts[bucket(cell, edge)], 1u);
}

// Each item takes a place of its bucket. Afterwards the start of a bucket is its end.
@compute @workgroup_size(GROUP)
fn scatter_items(invocation: Invocation) {
    let i = element(invocation);
    if (!running() || i >= range.end) {
        return;
    }
    let place = atomicAdd(&bucket_starts[bucket(cells[i], i >= clearance.triangles)], 1u);
    unordered[place] = i;
}

// Orders the items of a bucket by their numbers.
@compute @workgroup_size(GROUP)
fn rank_items(invocation: Invocation) {
    let place = element(invocation);
    if (!running() || place >= range.end) {
        return;
    }
    let item = unordered[place];
    let cell = cells[item];
    let b = bucket(cell, item >= clearance.triangles);
    var first = 0u;
    if (b > 0u) {
        first = bucket_ends[b - 1u];
    }
    let end = bucket_ends[b];
    var rank = first;
    for (var k = first; k < end; k++) {
        rank += select(0u, 1u, unordered[k] < item);
    }
    sorted[rank] = Sorted(item, cell);
}
