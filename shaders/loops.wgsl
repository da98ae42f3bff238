// The kernel that opens loops.

@group(0) @binding(0) var<storage, read_write> decisions: array<u32>; // guards

// Starts a loop: it runs if the loop around it does. Arguments: own word, word of the loop around.
@compute @workgroup_size(1)
fn open_loop() {
    decisions[range.arguments.x] = decisions[range.arguments.y];
}
