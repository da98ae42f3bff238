//! The complete state as bytes, for going on later.
//!
//! Little-endian: `TAUTSAVE`, version (`u32`), 1 with self-collision and else 0 (`u32`), fingerprint of the cloth
//! (`u64`), frame (`u64`), phase of the gusts (`f64`), time saved up (`f32`), number of solids (`u32`); for each solid
//! rotation (x, y, z, w), translation, velocity and angular velocity (`f32`); number of fields (`u32`); for each field
//! the length of its name (`u32`), its name, its number of words (`u32`) and its words (`u32`); at the end the
//! [`Checksum`] of everything before it (`u64`).

use super::{Basis, Cloth, Engine};
use crate::cloth::report::Dispatches;
use crate::engine::checksum::Checksum;
use crate::engine::fields::{Domain, Fields, Sizes, Spec};
use crate::engine::gpu::readback::Waiting;
use crate::error::{Error, Result};
use crate::mesh::FARTHEST;
use crate::solid::Pose;
use crate::solid::Solid;
use crate::stage::fields::Vertex;
use crate::stage::law::EdgeLaw;
use crate::stage::self_collision;

const SIGNATURE: [u8; 8] = *b"TAUTSAVE";
const VERSION: u32 = 3;
/// Rotation, translation, velocity and angular velocity.
const SOLID_WORDS: usize = 13;
/// What is there besides solids and fields: everything up to the number of solids, that of fields, and the checksum.
const HEADER: usize = 48 + 4 + 8;

/// Whether a checkpoint has the field.
pub(super) fn saved(spec: &Spec) -> bool {
    spec.persistent || spec.name.starts_with("user_")
}

impl Cloth {
    /// The complete state after the last frame, to be written to a file. A cloth that is made in the same way and takes
    /// it by [`Cloth::restore`] goes on as this one does, to the last bit on the same adapter. Mesh, settings and the
    /// shapes of solids are not in it: what was added or removed meanwhile must be so there, too. Waits for the GPU.
    ///
    /// ```
    /// use taut::{Cloth, FrameInput, scene};
    ///
    /// let frame = FrameInput { dt: 1.0 / 60.0, ..Default::default() };
    /// let mut cloth = Cloth::on_cpu(scene::hang(8)?)?;
    /// cloth.step(&frame)?;
    /// let saved = cloth.checkpoint()?;
    /// cloth.step(&frame)?;
    ///
    /// let mut later = Cloth::on_cpu(scene::hang(8)?)?;
    /// later.restore(&saved)?;
    /// later.step(&frame)?;
    /// assert_eq!(later.snapshot()?.positions, cloth.snapshot()?.positions);
    /// # Ok::<(), taut::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Checkpoint`] if a teleport, an impulse or a changed hold waits for the next frame, or a frame was
    /// dropped half-way; [`Error::Device`] if the device fails.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn checkpoint(&self) -> Result<Vec<u8>> {
        pollster::block_on(self.checkpoint_with(Waiting::Block))
    }

    /// [`Cloth::checkpoint`] for a browser, or where another thread polls the device.
    ///
    /// # Errors
    /// As [`Cloth::checkpoint`].
    pub async fn checkpoint_async(&self) -> Result<Vec<u8>> {
        self.checkpoint_with(Waiting::Await).await
    }

    /// Bytes that [`Cloth::checkpoint`] has, so that what cannot be one need not be read.
    pub fn checkpoint_size(&self) -> u64 {
        let field = |(number, spec): (usize, &Spec)| 8 + spec.name.len() + 4 * self.fields.words(number).len();
        let saved = self.fields.specs().iter().enumerate().filter(|(_, spec)| saved(spec));
        (HEADER + 4 * SOLID_WORDS * self.solids.len() + saved.map(field).sum::<usize>()) as u64
    }

    async fn checkpoint_with(&self, waiting: Waiting) -> Result<Vec<u8>> {
        if self.relocation.is_some() || !self.commanded.is_empty() || !self.rehold.is_empty() || self.unfinished {
            return Err(refused("inputs wait for the next frame: step first"));
        }
        let mut bytes = Vec::with_capacity(self.checkpoint_size() as usize);
        bytes.extend(SIGNATURE);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(u32::from(self.fields.sizes().touches_itself()).to_le_bytes());
        bytes.extend(fingerprint(&self.basis, self.fields.sizes()).to_le_bytes());
        bytes.extend(self.frame.to_le_bytes());
        bytes.extend(self.gust_phase.to_le_bytes());
        bytes.extend(self.saved_time.to_le_bytes());
        bytes.extend((self.solids.len() as u32).to_le_bytes());
        for solid in &self.solids {
            let Solid { pose, velocity, angular_velocity, .. } = solid;
            let lists: [&[f32]; 4] = [&pose.rotation, &pose.translation, velocity, angular_velocity];
            bytes.extend(lists.into_iter().flatten().flat_map(|x| x.to_le_bytes()));
        }
        let fields = self.current(waiting).await?;
        let count = fields.specs().iter().filter(|spec| saved(spec)).count() as u32;
        bytes.extend(count.to_le_bytes());
        for (number, spec) in fields.specs().iter().enumerate().filter(|(_, spec)| saved(spec)) {
            let words = fields.words(number);
            bytes.extend((spec.name.len() as u32).to_le_bytes());
            bytes.extend(spec.name.as_bytes());
            bytes.extend((words.len() as u32).to_le_bytes());
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        let mut checksum = Checksum::default();
        checksum.add(&bytes);
        bytes.extend(checksum.value().to_le_bytes());
        Ok(bytes)
    }

    /// The fields as they are now: on a GPU those that are saved, read back.
    async fn current(&self, waiting: Waiting) -> Result<std::borrow::Cow<'_, Fields>> {
        let Engine::Gpu(runner) = &self.engine else { return Ok(std::borrow::Cow::Borrowed(&self.fields)) };
        let mut fields = self.fields.clone();
        for (number, spec) in self.fields.specs().iter().enumerate().filter(|(_, spec)| saved(spec)) {
            // What no kernel uses is on this side only.
            if runner.named(spec.name).is_some() {
                let words: Vec<u32> = bytemuck::pod_collect_to_vec(&runner.read(&[spec.name], waiting).await?);
                let field = fields.words_mut(number);
                field.copy_from_slice(words.get(..field.len()).ok_or_else(|| refused("a read-back is too short"))?);
            }
        }
        Ok(std::borrow::Cow::Owned(fields))
    }

    /// Takes over the state of [`Cloth::checkpoint`]. On a GPU it takes effect with the next submission, before
    /// anything recorded but not yet submitted.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] if the bytes are damaged, of another version, or of another cloth, [`Error::DeviceLost`];
    /// then nothing has changed.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let restored = Restored::read(bytes, &self.basis, &self.solids, &self.fields)?;
        self.check_device()?;
        let Restored { frame, gust_phase, saved_time, solids, fields } = restored;
        self.forget_commands()?;
        (self.relocation, self.unfinished, self.dispatches) = (None, false, Dispatches::default());
        self.rehold.clear();
        (self.frame, self.gust_phase, self.saved_time, self.solids) = (frame, gust_phase, saved_time, solids);
        let commands = self.fields.get::<[f32; 4]>("commands")?.to_vec();
        self.fields = fields;
        self.fields.get_mut::<[f32; 4]>("commands")?.copy_from_slice(&commands);
        self.find_windows()?;
        // To be where one was is no motion.
        self.fields.copy("vertices", "frame_starts")?;
        if let Engine::Gpu(runner) = &self.engine {
            for spec in self.fields.specs().iter().filter(|spec| saved(spec) || spec.state) {
                runner.write(&self.fields, spec.name)?;
            }
        }
        Ok(())
    }
}

/// A checkpoint that was found to be right.
struct Restored {
    frame: u64,
    gust_phase: f64,
    saved_time: f32,
    solids: Vec<Solid>,
    fields: Fields,
}

impl Restored {
    fn read(bytes: &[u8], basis: &Basis, solids: &[Solid], fields: &Fields) -> Result<Self> {
        let (content, checksum) = bytes.split_last_chunk::<8>().ok_or_else(|| refused("it is too short"))?;
        let mut reader = Reader { bytes: content };
        if reader.take::<8>()? != SIGNATURE {
            return Err(refused("it does not start with TAUTSAVE"));
        }
        let version = reader.word()?;
        if version != VERSION {
            return Err(refused(format!("its version is {version}, only {VERSION} is known")));
        }
        let mut found = Checksum::default();
        found.add(content);
        if found.value() != u64::from_le_bytes(*checksum) {
            return Err(refused("it is damaged: its checksum is wrong"));
        }
        let own = u32::from(fields.sizes().touches_itself());
        match reader.word()? {
            word if word == own => {}
            // What was free to cross is tangled, perhaps; and what keeps apart would not from here on.
            0 => return Err(refused("it is of a cloth without self-collision, and this one has it")),
            1 => return Err(refused("it is of a cloth with self-collision, and this one has none")),
            _ => return Err(refused("it says something that only a later version knows")),
        }
        if u64::from_le_bytes(reader.take()?) != fingerprint(basis, fields.sizes()) {
            return Err(refused("it is of another cloth"));
        }
        let frame = u64::from_le_bytes(reader.take()?);
        let gust_phase = f64::from_le_bytes(reader.take()?);
        let saved_time = reader.float()?;
        if !(gust_phase.is_finite() && (0.0..1.0).contains(&saved_time)) {
            return Err(refused("a time is out of range"));
        }
        if reader.word()? as usize != solids.len() {
            return Err(refused("it has another number of solids"));
        }
        let mut moved = solids.to_vec();
        for (index, solid) in moved.iter_mut().enumerate() {
            let mut numbers = [0.0; SOLID_WORDS];
            for number in &mut numbers {
                *number = reader.float()?;
            }
            let [i, j, k, w, x, y, z, u, v, t, a, b, c] = numbers;
            solid.pose = Pose { rotation: [i, j, k, w], translation: [x, y, z] };
            (solid.velocity, solid.angular_velocity) = ([u, v, t], [a, b, c]);
            solid.validate(index).map_err(|error| refused(error.to_string()))?;
        }
        let made = fields;
        let mut fields = made.clone();
        reader.fields(&mut fields)?;
        check(&fields, basis)?;
        self_collision::check_places(made, &fields).map_err(|error| refused(error.to_string()))?;
        Ok(Self { frame, gust_phase, saved_time, solids: moved, fields })
    }
}

/// What a forged file could still do: what is not finite would become public, at once or with a frame that is taken
/// back, and what no step would accept would freeze the cloth. The rest may be so after a rejected substep, and steps
/// guard against it.
fn check(fields: &Fields, basis: &Basis) -> Result<()> {
    // NaN is beyond everything.
    let reached = |vector: &[f32]| vector.iter().all(|x| x.abs() <= FARTHEST);
    let masses = basis.mesh.inverse_masses();
    for (index, (vertex, inverse_mass)) in fields.get::<Vertex>("vertices")?.iter().zip(masses).enumerate() {
        if !reached(&vertex.position.to_array()) || vertex.inverse_mass != inverse_mass {
            return Err(refused(format!("vertex {index} is not finite, beyond 2⁴⁰ m, or of another mass")));
        }
    }
    for name in ["velocities", "previous_velocities"] {
        if let Some(index) = fields.get::<[f32; 4]>(name)?.iter().position(|velocity| !reached(&velocity[..])) {
            return Err(refused(format!("{name} of vertex {index} are not finite or beyond 2⁴⁰ m/s")));
        }
    }
    for name in ["reactions", "normals"] {
        let vectors = fields.get::<[f32; 4]>(name)?;
        if let Some(index) = vectors.iter().position(|vector| !vector.iter().all(|x| x.is_finite())) {
            return Err(refused(format!("{name} of vertex {index} are not finite")));
        }
    }
    Ok(())
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk().ok_or_else(|| refused("it ends too early"))?;
        self.bytes = rest;
        Ok(*first)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8]> {
        let (first, rest) = self.bytes.split_at_checked(length).ok_or_else(|| refused("it ends too early"))?;
        self.bytes = rest;
        Ok(first)
    }

    fn word(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn float(&mut self) -> Result<f32> {
        self.take().map(f32::from_le_bytes)
    }

    /// All fields of a checkpoint, in the order of the table.
    fn fields(&mut self, fields: &mut Fields) -> Result<()> {
        let expected: Vec<(usize, &'static str)> =
            fields.specs().iter().enumerate().filter(|(_, spec)| saved(spec)).map(|(n, spec)| (n, spec.name)).collect();
        if self.word()? as usize != expected.len() {
            return Err(refused("it has other fields: the solver or a stage of its own is another"));
        }
        for (number, name) in expected {
            let length = self.word()? as usize;
            if self.slice(length)? != name.as_bytes() {
                return Err(refused(format!("the field {name} is missing")));
            }
            let field = fields.words_mut(number);
            if self.word()? as usize != field.len() {
                return Err(refused(format!("the field {name} has another length")));
            }
            let words = self.slice(4 * field.len())?;
            for (word, bytes) in field.iter_mut().zip(words.chunks_exact(4)) {
                *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
        }
        if self.bytes.is_empty() { Ok(()) } else { Err(refused("it goes on after its end")) }
    }
}

/// Fingerprint of what does not change: a state means nothing on another mesh.
fn fingerprint(basis: &Basis, sizes: &Sizes) -> u64 {
    let mut checksum = Checksum::default();
    checksum.add(&(sizes.vertices() as u64).to_le_bytes());
    checksum.add(&(sizes.of(Domain::DISTANCES) as u64).to_le_bytes());
    for link in basis.topology.yarns.edges.iter().chain(basis.mesh.springs()) {
        for word in [link.tail, link.head, link.rest.to_bits(), link.stiffness.to_bits()] {
            checksum.add(&word.to_le_bytes());
        }
    }
    for kind in basis.mesh.edge_kinds() {
        checksum.add(bytemuck::bytes_of(&EdgeLaw::of(*kind)));
    }
    for mass in basis.mesh.masses() {
        checksum.add(&mass.to_le_bytes());
    }
    for pin in basis.mesh.pins() {
        checksum.add(&pin.to_le_bytes());
    }
    checksum.value()
}

fn refused(problem: impl Into<String>) -> Error {
    Error::Checkpoint { problem: problem.into() }
}
