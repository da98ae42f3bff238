"""GLB exports as pygltflib reads them: the animation of the weights plays the frames of the run."""

import sys
from pathlib import Path

import numpy
import pygltflib

folder = Path(sys.argv[1])
KINDS = {"SCALAR": 1, "VEC3": 3}
TYPES = {pygltflib.FLOAT: numpy.float32, pygltflib.UNSIGNED_INT: numpy.uint32}


def check(name, fps):
    gltf = pygltflib.GLTF2().load(str(folder / f"{name}.glb"))
    frames = numpy.load(folder / f"{name}.npy")
    blob = gltf.binary_blob()
    assert len(blob) == gltf.buffers[0].byteLength

    def view(index, kind, count):
        part = gltf.bufferViews[index]
        assert part.byteLength == 4 * count and part.byteOffset % 4 == 0
        return numpy.frombuffer(blob, kind, count, part.byteOffset)

    def values(index):
        accessor = gltf.accessors[index]
        width, kind = KINDS[accessor.type], TYPES[accessor.componentType]
        count = width * accessor.count
        if accessor.bufferView is None:
            found = numpy.zeros(count, kind)
        else:
            found = view(accessor.bufferView, kind, count).copy()
        if accessor.sparse is not None:
            sparse = accessor.sparse
            places = view(sparse.indices.bufferView, numpy.uint32, sparse.count)
            assert (numpy.diff(places.astype(numpy.int64)) > 0).all()
            found[places] = view(sparse.values.bufferView, kind, sparse.count)
        found = found.reshape(-1, width)
        if accessor.min:
            assert (found.min(axis=0) == numpy.float32(accessor.min)).all()
            assert (found.max(axis=0) == numpy.float32(accessor.max)).all()
        return found

    channel = gltf.animations[0].channels[0]
    assert channel.target.path == "weights" and gltf.nodes[channel.target.node].mesh == 0
    sampler = gltf.animations[0].samplers[channel.sampler]
    times = values(sampler.input)[:, 0]
    assert numpy.allclose(times, numpy.arange(len(frames)) / fps, atol=1e-6)
    for primitive in gltf.meshes[0].primitives:
        base = values(primitive.attributes.POSITION)
        targets = numpy.array([values(target["POSITION"]) for target in primitive.targets])
        weights = values(sampler.output).reshape(len(times), len(targets))
        played = base + numpy.einsum("kt,tvx->kvx", weights, targets)
        assert numpy.abs(played - frames).max() < 1e-6, name
        assert values(primitive.indices).max() < len(base)
        if primitive.attributes.NORMAL is not None:
            normals = values(primitive.attributes.NORMAL) + values(primitive.targets[-1]["NORMAL"])
            assert numpy.abs(numpy.linalg.norm(normals, axis=1) - 1).max() < 1e-5
    return [primitive.mode for primitive in gltf.meshes[0].primitives]


assert check("drape", 50) == [pygltflib.TRIANGLES]
assert check("chain", 60) == [pygltflib.LINES]
print("glb: the animation plays the frames of the run")
