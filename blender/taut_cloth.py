"""Cloth that does not stretch, simulated by the program taut.

Blender 4.2 or newer: Edit › Preferences › Add-ons › Install from Disk, and name the program in the preferences of the add-on if it is
not on the path. In Properties › Physics of a mesh choose what holds it, its fabric, the strain that is allowed and what it
falls on, and press Simulate. Escape cancels. The result is a Mesh Cache modifier, the first one of the mesh.

The mesh is simulated in the world, in metres, from the first frame of the scene to the last; it starts in its own shape, which is
also its shape at rest, without modifiers. The object and the collider do not move meanwhile.
"""

import os
import queue
import shutil
import signal
import struct
import subprocess
import threading

import bpy
import numpy

bl_info = {
    "name": "Taut Cloth",
    "description": "Cloth that does not stretch, simulated by the program taut",
    "version": (0, 1, 0),
    "blender": (4, 2, 0),
    "location": "Properties > Physics",
    "category": "Physics",
}

MODIFIER = "Taut"
"""The name of the modifier that has the result."""

FABRICS = ["cotton", "denim", "linen", "nylon", "polyester", "silk", "wool"]
WEIGHTS = 255
"""Weights of vertex groups are told apart in so many steps, as those of painted colors are."""

RELATIVE = {"PATH_SUPPORTS_BLEND_RELATIVE"} if bpy.app.version >= (4, 5, 0) else set()
"""What a property says whose path may begin with `//`, the folder of the file; older versions do not ask."""

RUNNING = {}
"""What is simulated in windows: names of objects, and the part that is done. Not a property of theirs: undo would bring back that
of a simulation that has ended, and files would keep it."""


class Refused(Exception):
    """What cannot be simulated, in one sentence."""


def coordinates(mesh, matrix, scale):
    """The vertices of a mesh in the world, in metres, as rows."""
    local = numpy.empty(3 * len(mesh.vertices), numpy.float64)
    mesh.vertices.foreach_get("co", local)
    local = local.reshape(-1, 3)
    matrix = numpy.array(matrix, numpy.float64)
    return scale * (local @ matrix[:3, :3].T + matrix[:3, 3])


def write_obj(path, points, faces):
    """Vertices and faces as Wavefront OBJ, as they are: with z up."""
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"v {x!r} {y!r} {z!r}\n" for x, y, z in points.tolist())
        file.writelines("f " + " ".join(str(vertex + 1) for vertex in face) + "\n" for face in faces)


def cloth_faces(mesh):
    """Quads and triangles; a face of more sides is cut into triangles."""
    mesh.calc_loop_triangles()
    faces = [tuple(polygon.vertices) for polygon in mesh.polygons if len(polygon.vertices) <= 4]
    large = {polygon.index for polygon in mesh.polygons if len(polygon.vertices) > 4}
    faces += [tuple(triangle.vertices) for triangle in mesh.loop_triangles if triangle.polygon_index in large]
    return faces


def pins(object, group):
    """Vertices by how firmly they are held, from 1 to 255."""
    if not group:
        return {}
    found = object.vertex_groups.get(group)
    if found is None:
        raise Refused(f"there is no vertex group {group}")
    held = {}
    for vertex in object.data.vertices:
        for element in vertex.groups:
            weight = round(WEIGHTS * element.weight)
            if element.group == found.index and weight > 0:
                held.setdefault(weight, []).append(vertex.index)
    return held


def read_pc2(path):
    """The samples of a point cache: (frames, points, 3)."""
    with open(path, "rb") as file:
        magic, version, points, _start, _rate, samples = struct.unpack("<12siiffi", file.read(32))
        if magic != b"POINTCACHE2\0" or version != 1:
            raise Refused(f"{path} is no point cache")
        return numpy.fromfile(file, "<f4", 3 * points * samples).reshape(samples, points, 3)


def write_pc2(path, frames):
    """Samples as a point cache, one per frame."""
    samples, points, _ = frames.shape
    with open(path, "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, points, 0.0, 1.0, samples))
        frames.astype("<f4").tofile(file)


class Job:
    """One simulation: files are written, the program runs beside Blender, and its result becomes a modifier."""

    def __init__(self, context, object, program):
        settings, scene = object.taut, context.scene
        if object.type != "MESH" or not object.data.polygons:
            raise Refused("cloth is a mesh with faces")
        if object.mode != "OBJECT":
            raise Refused("leave the edit mode first")
        self.program = shutil.which(bpy.path.abspath(program)) or shutil.which(program)
        if self.program is None:
            raise Refused(f"there is no program {program}: the preferences of the add-on name it")
        self.folder = os.path.join(bpy.path.abspath(settings.folder), bpy.path.clean_name(object.name))
        if not os.path.isabs(self.folder):
            raise Refused("save the file first, or choose an absolute folder for the cache")
        self.name = object.name
        self.matrix = object.matrix_world.copy()
        self.scale = scene.unit_settings.scale_length
        self.start = scene.frame_start
        self.frames = scene.frame_end - scene.frame_start
        self.fps = scene.render.fps / scene.render.fps_base
        if self.frames < 1:
            raise Refused("the scene has one frame only")
        os.makedirs(self.folder, exist_ok=True)
        self.write(context, settings)
        self.done = 0
        self.told = []
        self.lines = queue.Queue()
        self.process = None

    @property
    def object(self):
        """Looked up by its name: after an undo it is another one, and it may be deleted meanwhile."""
        found = bpy.data.objects.get(self.name)
        if found is None:
            raise Refused(f"there is no object {self.name} any more")
        return found

    def write(self, context, settings):
        """Writes the meshes and the scene file."""
        write_obj(self.path("cloth.obj"), coordinates(self.object.data, self.matrix, self.scale), cloth_faces(self.object.data))
        text = ['name = "blender"', "[cloth]", 'mesh = "cloth.obj"', 'up = "z"', f'material = "{settings.fabric}"']
        for weight, vertices in sorted(pins(self.object, settings.pin_group).items()):
            text += ["[[pins]]", f"indices = {vertices}"]
            if weight < WEIGHTS:
                text.append(f"hold = {{ weight = {weight / WEIGHTS!r} }}")
        if settings.collider is not None:
            evaluated = settings.collider.evaluated_get(context.evaluated_depsgraph_get())
            mesh = evaluated.to_mesh()
            mesh.calc_loop_triangles()
            points = coordinates(mesh, evaluated.matrix_world, self.scale)
            write_obj(self.path("collider.obj"), points, [tuple(triangle.vertices) for triangle in mesh.loop_triangles])
            evaluated.to_mesh_clear()
            text += ["[[solids]]", 'shape = "mesh"', 'file = "collider.obj"', 'up = "z"']
        gravity = list(context.scene.gravity) if context.scene.use_gravity else [0.0] * 3
        # z becomes y, and y becomes -z, as of the meshes.
        text += ["[world]", f"gravity = [{gravity[0]!r}, {gravity[2]!r}, {-gravity[1]!r}]"]
        if settings.self_collision:
            text.append("self_collision = true")
        text += ["[solver]", f"strain_limit = {settings.limit / 100!r}"]
        text += ["[output]", f"fps = {self.fps!r}", f"seconds = {self.frames / self.fps!r}"]
        with open(self.path("scene.toml"), "w", encoding="utf-8") as file:
            file.write("\n".join(text) + "\n")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def begin(self):
        """Starts the program."""
        command = [self.program, "run", self.path("scene.toml"), "--out", self.path("run"), "--progress", "--quiet"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
        )

        def listen():
            for line in self.process.stderr:
                self.lines.put(line.strip())

        self.listener = threading.Thread(target=listen, daemon=True)
        self.listener.start()

    def poll(self):
        """Takes note of what the program said; whether it has ended."""
        ended = self.process.poll() is not None
        if ended:
            self.listener.join()
        while True:
            try:
                line = self.lines.get_nowait()
            except queue.Empty:
                return ended
            number = line.removeprefix("frame ").partition("/")[0]
            if line.startswith("frame ") and number.isdigit():
                self.done = int(number)
            else:
                self.told.append(line.removeprefix("taut: "))

    def cancel(self):
        """Ends the program; the modifier stays as it was."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.poll()

    def finish(self):
        """Makes a modifier of the result; tells what is wrong with it, or None."""
        said = "; ".join(self.told)
        # 1 is a result whose limit was missed.
        if self.process.returncode not in (0, 1):
            raise Refused(said or f"the program ended with {self.process.returncode}")
        frames = read_pc2(self.path("run", "cloth.pc2"))
        if frames.shape[1] != len(self.object.data.vertices):
            raise Refused("vertices in the same place became one: merge them by distance first")
        # From y up to z up, and from the world to the object.
        world = numpy.stack([frames[..., 0], -frames[..., 2], frames[..., 1]], axis=-1) / self.scale
        inverse = numpy.array(self.matrix.inverted(), numpy.float64)
        write_pc2(self.path("cloth.pc2"), world @ inverse[:3, :3].T + inverse[:3, 3])
        self.attach()
        return said or None

    def attach(self):
        """Puts the cache before all other modifiers."""
        modifiers = self.object.modifiers
        modifier = modifiers.get(MODIFIER)
        if modifier is not None and modifier.type != "MESH_CACHE":
            modifiers.remove(modifier)
            modifier = None
        if modifier is None:
            modifier = modifiers.new(MODIFIER, "MESH_CACHE")
            modifiers.move(len(modifiers) - 1, 0)
        modifier.cache_format = "PC2"
        # Named anew, so that Blender reads it again.
        modifier.filepath = ""
        modifier.filepath = self.path("cloth.pc2")
        modifier.deform_mode = "OVERWRITE"
        modifier.interpolation = "LINEAR"
        modifier.time_mode = "FRAME"
        modifier.play_mode = "SCENE"
        modifier.frame_start = self.start
        modifier.frame_scale = 1.0
        modifier.forward_axis = "POS_Y"
        modifier.up_axis = "POS_Z"
        # A set in Blender 4.2, three booleans in 4.5.
        modifier.flip_axis = set() if isinstance(modifier.flip_axis, set) else (False, False, False)


class TautSettings(bpy.types.PropertyGroup):
    """What a mesh is simulated with."""

    pin_group: bpy.props.StringProperty(
        name="Pins", description="Vertex group that is held: 1 for good, less by springs, 0 not at all"
    )
    fabric: bpy.props.EnumProperty(
        name="Fabric",
        description="Density, shear, bending, damping, friction and thickness",
        items=[(name, name.capitalize(), "") for name in FABRICS],
        default="cotton",
    )
    limit: bpy.props.FloatProperty(
        name="Strain Limit",
        description="No edge becomes longer than this beyond its length",
        default=1.0,
        min=0.01,
        max=50.0,
        precision=2,
        subtype="PERCENTAGE",
    )
    collider: bpy.props.PointerProperty(
        name="Collider",
        description="A closed mesh that the cloth falls on, with its modifiers, as it is in this frame",
        type=bpy.types.Object,
        poll=lambda self, object: object.type == "MESH" and object != self.id_data,
    )
    self_collision: bpy.props.BoolProperty(
        name="Self-Collision", description="The cloth keeps from passing through itself", default=False
    )
    folder: bpy.props.StringProperty(
        name="Cache",
        description="Folder for what is simulated",
        default="//taut",
        subtype="DIR_PATH",
        options={"ANIMATABLE"} | RELATIVE,
    )


class TautPreferences(bpy.types.AddonPreferences):
    """Where the program is."""

    bl_idname = __name__

    program: bpy.props.StringProperty(
        name="Program", description="The program taut, by its path or name", default="taut", subtype="FILE_PATH"
    )

    def draw(self, context):
        self.layout.prop(self, "program")


class OBJECT_OT_taut_simulate(bpy.types.Operator):
    """Simulate the mesh from the first frame of the scene to the last; Escape cancels"""

    bl_idname = "object.taut_simulate"
    bl_label = "Simulate"

    program: bpy.props.StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    @classmethod
    def poll(cls, context):
        object = context.active_object
        return object is not None and object.type == "MESH" and object.name not in RUNNING

    def prepare(self, context):
        addon = context.preferences.addons.get(__name__)
        program = self.program or (addon.preferences.program if addon else "taut")
        self.job = Job(context, context.active_object, program)
        self.job.begin()

    def execute(self, context):
        """Without a window: waits for the end."""
        try:
            self.prepare(context)
            self.job.process.wait()
            self.job.poll()
            return self.end()
        except Refused as refusal:
            self.report({"ERROR"}, str(refusal))
            return {"CANCELLED"}

    def invoke(self, context, event):
        try:
            self.prepare(context)
        except Refused as refusal:
            self.report({"ERROR"}, str(refusal))
            return {"CANCELLED"}
        manager = context.window_manager
        manager.progress_begin(0, self.job.frames)
        RUNNING[self.job.name] = 0.0
        self.timer = manager.event_timer_add(0.1, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
            self.cancel(context)
            self.report({"INFO"}, f"cancelled after {self.job.done} of {self.job.frames} frames")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        ended = self.job.poll()
        context.window_manager.progress_update(self.job.done)
        RUNNING[self.job.name] = self.job.done / self.job.frames
        for area in context.screen.areas if context.screen else ():
            if area.type == "PROPERTIES":
                area.tag_redraw()
        if not ended:
            return {"PASS_THROUGH"}
        self.leave(context)
        try:
            return self.end()
        except Refused as refusal:
            self.report({"ERROR"}, str(refusal))
            return {"CANCELLED"}

    def cancel(self, context):
        """Blender calls it, too: where another file is opened meanwhile, and at its end."""
        self.job.cancel()
        self.leave(context)

    def end(self):
        complaint = self.job.finish()
        if complaint:
            self.report({"WARNING"}, complaint)
        return {"FINISHED"}

    def leave(self, context):
        context.window_manager.event_timer_remove(self.timer)
        context.window_manager.progress_end()
        RUNNING.pop(self.job.name, None)


class PHYSICS_PT_taut(bpy.types.Panel):
    """What is asked for, and how far it is."""

    bl_label = "Taut Cloth"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "physics"

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.type == "MESH"

    def draw(self, context):
        layout, object = self.layout, context.object
        settings = object.taut
        layout.use_property_split = True
        layout.prop_search(settings, "pin_group", object, "vertex_groups")
        for name in ("fabric", "limit", "collider", "self_collision", "folder"):
            layout.prop(settings, name)
        done = RUNNING.get(object.name)
        if done is not None:
            layout.progress(factor=done, text=f"{done:.0%}; Escape cancels")
        else:
            layout.operator(OBJECT_OT_taut_simulate.bl_idname, icon="PHYSICS")


CLASSES = (TautSettings, TautPreferences, OBJECT_OT_taut_simulate, PHYSICS_PT_taut)


def register():
    for each in CLASSES:
        bpy.utils.register_class(each)
    bpy.types.Object.taut = bpy.props.PointerProperty(type=TautSettings)


def unregister():
    del bpy.types.Object.taut
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)


if __name__ == "__main__":
    register()
