// Cells of a grid and their buckets. Twin of src/stage/self_collision/cells.rs.

// A triangle or an edge: its middle, the largest distance of a vertex from it, and half of its box [m].
struct Extent { center: vec3<f32>, radius: f32, half: vec3<f32>, padding: f32 }
// One in its bucket: its number, and its cell, packed.
struct Sorted { item: u32, cell: u32 }

// Products and floors are rounded alike everywhere; what is compared later is stored.
fn cell_of(position: vec3<f32>, inverse: f32) -> vec3<i32> {
    return vec3<i32>(floor(position * inverse));
}

// A cell in one word. Cells that share it are a thousand apart, so that no two of 27 neighbors do.
fn packed(cell: vec3<i32>) -> u32 {
    let low = vec3<u32>(cell) & vec3<u32>(0x3ffu);
    return low.x | (low.y << 10u) | (low.z << 20u);
}

// Bucket of a cell: those of triangles come first.
fn bucket(cell: u32, edge: bool) -> u32 {
    let mixed = cell * 0x9e3779b1u;
    let hashed = mixed ^ (mixed >> 15u);
    if (edge) {
        return clearance.triangle_buckets + (hashed & (clearance.edge_buckets - 1u));
    }
    return hashed & (clearance.triangle_buckets - 1u);
}

// One of the 27 cells around a cell.
fn neighbor(cell: vec3<i32>, k: u32) -> vec3<i32> {
    return cell + vec3<i32>(i32(k % 3u), i32(k / 3u % 3u), i32(k / 9u)) - vec3<i32>(1);
}
