"""USD exports as usd-core reads them: what the stage says, every sample to the bit, and no complaint of its validators."""

import sys
from pathlib import Path

import numpy
from pxr import Gf, Usd, UsdGeom, UsdValidation

folder = Path(sys.argv[1])


def validate(path):
    """All complaints of every validator that usd-core has."""
    registry = UsdValidation.ValidationRegistry()
    context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
    stage = Usd.Stage.Open(str(path))
    return [f"{error.GetValidator().GetMetadata().name}: {error.GetMessage()}" for error in context.Validate(stage)]


def check(name, fps, prim, kind):
    path = folder / f"{name}.usda"
    frames = numpy.load(folder / f"{name}.npy")
    complaints = validate(path)
    assert not complaints, complaints
    stage = Usd.Stage.Open(str(path))
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y
    assert stage.GetDefaultPrim().GetPath() == "/cloth"
    assert (stage.GetTimeCodesPerSecond(), stage.GetFramesPerSecond()) == (fps, fps)
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, len(frames) - 1)
    shape = kind(stage.GetPrimAtPath(f"/cloth/{prim}"))
    assert shape, prim
    assert shape.GetPointsAttr().GetTimeSamples() == list(range(len(frames)))
    for index, frame in enumerate(frames):
        points = numpy.array(shape.GetPointsAttr().Get(index), dtype=numpy.float32)
        assert points.tobytes() == frame.tobytes(), (name, index)
        low, high = shape.GetExtentAttr().Get(index)
        room = numpy.array([low, high]) - [frame.min(axis=0), frame.max(axis=0)]
        assert (numpy.abs(room) <= 0.0011).all(), room
    # What another program would draw is where the points are: no transform turns them.
    assert UsdGeom.Xformable(stage.GetPrimAtPath("/cloth")).ComputeLocalToWorldTransform(0) == Gf.Matrix4d(1.0)
    return stage, shape, frames


stage, mesh, frames = check("drape", 50, "surface", UsdGeom.Mesh)
assert mesh.GetSubdivisionSchemeAttr().Get() == UsdGeom.Tokens.none
assert mesh.GetDoubleSidedAttr().Get() is True
counts, indices = mesh.GetFaceVertexCountsAttr().Get(), mesh.GetFaceVertexIndicesAttr().Get()
assert set(counts) == {4} and len(counts) == 16 * 16 and len(indices) == 4 * 16 * 16
assert UsdGeom.Mesh.ValidateTopology(indices, counts, 17 * 17)[0]
assert mesh.GetNormalsInterpolation() == UsdGeom.Tokens.vertex
for index in (0, len(frames) - 1):
    normals = numpy.array(mesh.GetNormalsAttr().Get(index))
    assert normals.shape == (17 * 17, 3)
    assert numpy.abs(numpy.linalg.norm(normals, axis=1) - 1).max() < 1e-5
# It starts flat, and the sides of its faces are where its normals point.
first = numpy.array(mesh.GetNormalsAttr().Get(0))
a, b, c = (frames[0][index] for index in indices[:3])
assert numpy.allclose(first, first[0], atol=1e-6) and numpy.cross(b - a, c - a) @ first[0] > 0

stage, curves, frames = check("chain", 60, "lines", UsdGeom.BasisCurves)
assert list(curves.GetCurveVertexCountsAttr().Get()) == [9]
assert curves.GetTypeAttr().Get() == UsdGeom.Tokens.linear

# The validators can fail.
bad = folder / "bad.usda"
bad.write_text((folder / "drape.usda").read_text().replace('    upAxis = "Y"\n', "").replace("[4, 4,", "[3, 4,", 1))
assert validate(bad), "a planted error was not found"
print("usd: samples are those of the run, and the validators are content")
