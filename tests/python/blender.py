"""Blender reads what taut writes, and the add-on simulates: positions of evaluated meshes against those of the run.

Needs bpy 4.2 or newer. Arguments: a folder with the exports of tests/blender, and the program.
"""

import os
import sys
import time
import traceback
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy



def fail(*exception):
    """The package does not always come to an end by itself."""
    traceback.print_exception(*exception)
    sys.stderr.flush()
    os._exit(1)


sys.excepthook = fail
ROOT = Path(__file__).resolve().parents[2]
folder, program = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(ROOT / "blender"))
import taut_cloth  # noqa: E402


def empty():
    bpy.ops.wm.read_factory_settings(use_empty=True)


def evaluated(object, frame, world=True):
    """The vertices of an object with its modifiers in a frame."""
    bpy.context.scene.frame_set(frame)
    found = object.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = found.to_mesh()
    points = numpy.array([tuple(found.matrix_world @ v.co if world else v.co) for v in mesh.vertices])
    found.to_mesh_clear()
    return points


def turned(points):
    """From y up to z up."""
    return numpy.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)


def near(found, expected, tolerance=2e-6):
    assert found.shape == expected.shape, (found.shape, expected.shape)
    worst = numpy.abs(found - expected).max()
    assert worst < tolerance, worst


frames = numpy.load(folder / "drape.npy")
last = len(frames) - 1
assert last == 25 and numpy.abs(frames[last] - frames[0]).max() > 0.1

# rest.obj with a point cache, as docs/program.md has it; so is an MDD.
for kind, path in [("PC2", folder / "drape" / "cloth.pc2"), ("MDD", folder / "drape.mdd")]:
    empty()
    bpy.ops.wm.obj_import(filepath=str(folder / "drape" / "rest.obj"), forward_axis="NEGATIVE_Z", up_axis="Y")
    cloth = bpy.context.selected_objects[0]
    assert len(cloth.data.vertices) == 17 * 17 and len(cloth.data.polygons) == 16 * 16
    assert all(len(polygon.vertices) == 4 for polygon in cloth.data.polygons)
    near(evaluated(cloth, 0, world=False), frames[0])
    modifier = cloth.modifiers.new("cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath = kind, str(path)
    assert (modifier.forward_axis, modifier.up_axis) == ("POS_Y", "POS_Z")
    assert (modifier.time_mode, modifier.play_mode) == ("FRAME", "SCENE")
    modifier.frame_start = 1.0
    bpy.context.scene.render.fps = 50
    for frame in (0, 1, 13, last):
        near(evaluated(cloth, frame + 1), turned(frames[frame]))
    # At another rate of frames, and between them.
    bpy.context.scene.render.fps = 25
    modifier.frame_scale = 2.0
    modifier.frame_start = 0.0
    near(evaluated(cloth, 6), turned(frames[12]))
    modifier.frame_scale = 0.5
    near(evaluated(cloth, 7), turned(0.5 * (frames[3] + frames[4])))
    print(f"blender: rest.obj with {kind}")

# The groups of a mesh.
empty()
bpy.ops.wm.obj_import(
    filepath=str(folder / "shirt" / "rest.obj"), forward_axis="NEGATIVE_Z", up_axis="Y", import_vertex_groups=True
)
shirt = bpy.context.selected_objects[0]
assert {group.name for group in shirt.vertex_groups} >= {"collar", "hem"}, [group.name for group in shirt.vertex_groups]
collar = shirt.vertex_groups["collar"].index
found = {vertex.index for vertex in shirt.data.vertices if any(entry.group == collar for entry in vertex.groups)}
assert found == set(range(10)), found
print("blender: groups")

# USD and glTF bring everything themselves.
empty()
bpy.context.scene.render.fps = 50
bpy.ops.wm.usd_import(filepath=str(folder / "drape.usda"), set_frame_range=True)
cloth = next(object for object in bpy.data.objects if object.type == "MESH")
assert (bpy.context.scene.frame_start, bpy.context.scene.frame_end) == (0, last)
for frame in (0, 1, 13, last):
    near(evaluated(cloth, frame), turned(frames[frame]))
print("blender: USD")
empty()
bpy.context.scene.render.fps = 50
bpy.ops.import_scene.gltf(filepath=str(folder / "drape.glb"), merge_vertices=False)
cloth = next(object for object in bpy.data.objects if object.type == "MESH")
assert len(cloth.data.shape_keys.key_blocks) == 1 + last
# The importer puts time 0 to frame 0.
for frame in (0, 1, 13, last):
    near(evaluated(cloth, frame), turned(frames[frame]), 1e-5)
print("blender: glTF")


# The add-on: a sheet that is turned, moved and scaled, held at one side, falls on a ball.
def sheet():
    empty()
    taut_cloth.register()
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 25, 3, 28
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.3, location=(1.0, 2.0, 0.6))
    ball = bpy.context.active_object
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=16, y_subdivisions=16, size=2.0)
    cloth = bpy.context.active_object
    cloth.location, cloth.rotation_euler, cloth.scale = (1.0, 2.0, 1.0), (0.0, 0.0, 0.7), (0.5, 0.5, 0.5)
    group = cloth.vertex_groups.new(name="pins")
    side = [v.index for v in cloth.data.vertices if v.co.x < -0.99]
    group.add(side, 1.0, "REPLACE")
    bpy.context.view_layer.update()
    cloth.taut.pin_group, cloth.taut.collider, cloth.taut.fabric = "pins", ball, "linen"
    cloth.taut.limit, cloth.taut.folder = 0.5, str(folder / "cache")
    cloth.modifiers.new("thick", "SOLIDIFY")
    cloth.modifiers["thick"].show_viewport = False
    return cloth, ball, side


cloth, ball, side = sheet()
start = evaluated(cloth, 3)
assert bpy.ops.object.taut_simulate(program=program) == {"FINISHED"}
assert [modifier.type for modifier in cloth.modifiers] == ["MESH_CACHE", "SOLIDIFY"]
near(evaluated(cloth, 3), start)
near(evaluated(cloth, 1), start)
edges = numpy.array([tuple(edge.vertices) for edge in cloth.data.edges])
rest = numpy.linalg.norm(start[edges[:, 0]] - start[edges[:, 1]], axis=1)
for frame in range(4, 29):
    points = evaluated(cloth, frame)
    near(points[side], start[side])
    lengths = numpy.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    assert (lengths / rest - 1).max() < 0.005 + 1e-5, (frame, (lengths / rest - 1).max())
    assert numpy.linalg.norm(points - numpy.array(ball.location), axis=1).min() > 0.29, frame
moved = evaluated(cloth, 28) - start
assert moved[:, 2].min() < -0.2, "it falls along -z"
near(evaluated(cloth, 40), evaluated(cloth, 28))
print("blender: the add-on, on a ball")

# Again, in the same modifier, without the ball; soft pins give way a little.
cloth.taut.collider = None
cloth.vertex_groups["pins"].add(side, 0.9, "REPLACE")
assert bpy.ops.object.taut_simulate(program=program) == {"FINISHED"}
assert [modifier.type for modifier in cloth.modifiers] == ["MESH_CACHE", "SOLIDIFY"]
points = evaluated(cloth, 28)
drop = (points - start)[side, 2]
assert -0.2 < drop.min() < -1e-4, drop
print("blender: the add-on again, on springs")

# It can be cancelled, and then the result before stays.
bpy.context.scene.frame_end = 5000
job = taut_cloth.Job(bpy.context, cloth, program)
job.begin()
limit = time.monotonic() + 60
while job.done < 2 and time.monotonic() < limit:
    job.poll()
    time.sleep(0.01)
assert job.done >= 2 and not job.poll()
job.cancel()
assert job.process.returncode != 0 and job.done < 4997
near(evaluated(cloth, 28), points)
print("blender: cancelled")


# In a window it runs beside Blender: begun by a click, moved on by a timer, ended by itself or by Escape. The package bpy opens no
# window, so the operator stands in a class of its own here, and is told of events as a window would.
class Window:
    """What the operator finds around it, and what it does with that."""

    def __init__(self):
        self.timers, self.handlers, self.bar, self.redrawn = [], [], None, 0

    def progress_begin(self, _least, _most):
        self.bar = 0

    def progress_update(self, value):
        assert value >= self.bar, "the bar goes forward"
        self.bar = value

    def progress_end(self):
        self.bar = None

    def event_timer_add(self, _seconds, window):
        self.timers.append(window)
        return len(self.timers)

    def event_timer_remove(self, _timer):
        self.timers.pop()

    def modal_handler_add(self, operator):
        self.handlers.append(operator)

    def tag_redraw(self):
        self.redrawn += 1


members = vars(taut_cloth.OBJECT_OT_taut_simulate).items()
Operator = type("Operator", (), {name: member for name, member in members if callable(member)})


def clicked(job_of=program):
    """Presses the button; the operator, its window and the context."""
    window = Window()
    area = SimpleNamespace(type="PROPERTIES", tag_redraw=window.tag_redraw)
    context = SimpleNamespace(
        active_object=cloth,
        object=cloth,
        scene=bpy.context.scene,
        preferences=bpy.context.preferences,
        evaluated_depsgraph_get=bpy.context.evaluated_depsgraph_get,
        window="a window",
        window_manager=window,
        screen=SimpleNamespace(areas=[area]),
    )
    operator = Operator()
    operator.program, operator.said = job_of, []
    operator.report = lambda kind, text: operator.said.append((kind, text))
    assert taut_cloth.OBJECT_OT_taut_simulate.poll(context)
    return operator, window, context


def timers(operator, context, until):
    """Ticks of the timer until something is so, or the operator has ended; what it answered last."""
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        answer = operator.modal(context, SimpleNamespace(type="TIMER"))
        if answer != {"PASS_THROUGH"} or until():
            return answer
        time.sleep(0.01)
    raise AssertionError("it does not end")


def drawn(context):
    """What the panel shows: calls of its layout."""
    calls = []
    layout = SimpleNamespace(
        prop_search=lambda *_: None,
        prop=lambda _, name: calls.append(name),
        progress=lambda factor, text: calls.append(text),
        operator=lambda name, icon: calls.append(name),
    )
    taut_cloth.PHYSICS_PT_taut.draw(SimpleNamespace(layout=layout), context)
    return calls


bpy.context.scene.frame_end = 28
operator, window, context = clicked()
assert operator.invoke(context, None) == {"RUNNING_MODAL"}
assert window.handlers == [operator] and window.timers == ["a window"] and window.bar == 0
assert not taut_cloth.OBJECT_OT_taut_simulate.poll(context), "one at a time"
assert operator.modal(context, SimpleNamespace(type="MOUSEMOVE")) == {"PASS_THROUGH"}
assert timers(operator, context, lambda: operator.job.done > 0) == {"PASS_THROUGH"}
assert any("Escape cancels" in call for call in drawn(context)) and window.redrawn > 0
assert timers(operator, context, lambda: False) == {"FINISHED"}
assert window.timers == [] and window.bar is None and operator.job.done == 25, operator.job.done
near(evaluated(cloth, 28), points)
assert taut_cloth.OBJECT_OT_taut_simulate.bl_idname in drawn(context)
print("blender: the operator, by a timer")

bpy.context.scene.frame_end = 5000
operator, window, context = clicked()
assert operator.invoke(context, None) == {"RUNNING_MODAL"}
assert timers(operator, context, lambda: operator.job.done >= 2) == {"PASS_THROUGH"}
assert operator.modal(context, SimpleNamespace(type="ESC")) == {"CANCELLED"}
(kind, text), = operator.said
assert kind == {"INFO"} and text.startswith("cancelled after ") and text.endswith(" of 4997 frames"), text
assert operator.job.process.returncode != 0 and window.timers == [] and window.bar is None
assert taut_cloth.OBJECT_OT_taut_simulate.poll(context)
near(evaluated(cloth, 28), points)
print("blender: the operator, and Escape")

# Another file is opened.
operator, window, context = clicked()
assert operator.invoke(context, None) == {"RUNNING_MODAL"}
operator.cancel(context)
assert operator.job.process.returncode != 0 and window.timers == [] and taut_cloth.RUNNING == {}

# The mesh is renamed, which is as if it were deleted.
operator, window, context = clicked()
assert operator.invoke(context, None) == {"RUNNING_MODAL"}
assert timers(operator, context, lambda: operator.job.done >= 1) == {"PASS_THROUGH"}
operator.job.process.kill()
cloth.name = "other"
assert timers(operator, context, lambda: False) == {"CANCELLED"}
assert operator.said[0][0] == {"ERROR"} and window.timers == [] and taut_cloth.RUNNING == {}
print("blender: the operator, and an end that is none")


# What cannot be is said.
def refused(expected, **arguments):
    try:
        bpy.ops.object.taut_simulate(**{"program": program, **arguments})
    except RuntimeError as error:
        assert expected in str(error), error
    else:
        raise AssertionError(f"it was not refused: {expected}")


bpy.context.scene.frame_end = 5
cloth.taut.pin_group = "missing"
refused("there is no vertex group missing")
cloth.taut.pin_group = ""
refused("there is no program", program="/nonexistent/taut")
cloth.taut.folder = "//taut"
refused("save the file first")
cloth.taut.folder = str(folder / "cache")
# A ball with a hole is no solid.
bpy.ops.mesh.primitive_plane_add()
plane = bpy.context.active_object
bpy.context.view_layer.objects.active = cloth
cloth.taut.collider = plane
refused("the body is open")
taut_cloth.unregister()
print("blender: refusals")
sys.stdout.flush()
os._exit(0)
