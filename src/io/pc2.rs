//! PointCache2: positions over time for one mesh, as animation programs import them.
//!
//! A file is a header of 32 bytes and then, for each sample, x, y, z of each point as `f32`;
//! everything little-endian. The header is `POINTCACHE2` and a zero byte, version 1 (`i32`), number
//! of points (`i32`), start frame (`f32`), frames per sample (`f32`), number of samples (`i32`).

use super::atomic::AtomicFile;
use super::export::{Files, Format, Frame, FrameWriter};
use super::{check_complete, check_sample};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const SIGNATURE: [u8; 12] = *b"POINTCACHE2\0";
const VERSION: i32 = 1;
const HEADER_BYTES: u64 = 32;
const POINT_BYTES: u64 = 12;

/// As the table of exports has it.
pub(super) const FORMAT: Format = Format {
    extension: "pc2",
    about: "PointCache2",
    files: Files::One(|path, plan| {
        let header = Header { points: plan.points, samples: plan.frames, ..Default::default() };
        Ok(Box::new(Writer::create(path, header)?))
    }),
};

/// What a file says about itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Points per sample, at most 2³¹−1.
    pub points: u32,
    /// Samples, at most 2³¹−1.
    pub samples: u32,
    /// Frame of the first sample, finite.
    pub start: f32,
    /// Frames from one sample to the next, finite and above zero.
    pub rate: f32,
}

impl Default for Header {
    /// Nothing yet; one sample per frame, from frame 0.
    fn default() -> Self {
        Self { points: 0, samples: 0, start: 0.0, rate: 1.0 }
    }
}

impl Header {
    fn check(&self) -> Result<()> {
        let most = i32::MAX as u32;
        let checks = [
            ("points", f64::from(self.points), self.points <= most, "at most 2147483647"),
            ("samples", f64::from(self.samples), self.samples <= most, "at most 2147483647"),
            ("start", f64::from(self.start), self.start.is_finite(), "finite"),
            ("rate", f64::from(self.rate), self.rate.is_finite() && self.rate > 0.0, "finite and above zero"),
        ];
        for (field, value, valid, expected) in checks {
            if !valid {
                return Err(Error::OutOfRange { field, index: None, value, expected });
            }
        }
        Ok(())
    }

    fn bytes(&self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..12].copy_from_slice(&SIGNATURE);
        bytes[12..16].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.points.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.start.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.rate.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.samples.to_le_bytes());
        bytes
    }

    /// The header and nothing else: whether the file is as long as it says is for the caller.
    fn parse(bytes: &[u8; HEADER_BYTES as usize]) -> Result<Self, String> {
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let count = |name: &str, at| {
            let value = i32::from_le_bytes(word(at));
            u32::try_from(value).map_err(|_| format!("the number of {name} is {value}"))
        };
        if bytes[..12] != SIGNATURE {
            return Err("it does not start with POINTCACHE2".to_owned());
        }
        let version = i32::from_le_bytes(word(12));
        if version != VERSION {
            return Err(format!("its version is {version}, only {VERSION} is known"));
        }
        Ok(Self {
            points: count("points", 16)?,
            start: f32::from_le_bytes(word(20)),
            rate: f32::from_le_bytes(word(24)),
            samples: count("samples", 28)?,
        })
    }
}

/// Writes a cache sample by sample; memory does not grow with the number of samples.
///
/// The file appears when [`finish`](Self::finish) has found all samples that the header promises.
#[derive(Debug)]
pub struct Writer {
    file: AtomicFile,
    header: Header,
    written: u32,
}

impl Writer {
    /// Starts a cache.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for the header, [`Error::Io`].
    pub fn create(path: impl AsRef<Path>, header: Header) -> Result<Self> {
        header.check()?;
        let mut file = AtomicFile::create(path)?;
        file.write_all(&header.bytes()).map_err(|source| file.error(source))?;
        Ok(Self { file, header, written: 0 })
    }

    /// Adds one frame, a sample: the position of each point, m.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many positions as points, or more frames than promised;
    /// [`Error::NotFinite`] and [`Error::Io`].
    pub fn write_frame(&mut self, positions: &[[f32; 3]]) -> Result<()> {
        check_sample(positions, self.header.points, self.written, self.header.samples)?;
        for coordinate in positions.as_flattened() {
            let written = self.file.write_all(&coordinate.to_le_bytes());
            written.map_err(|source| self.file.error(source))?;
        }
        self.written += 1;
        Ok(())
    }

    /// Puts the file in place.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if frames are missing, [`Error::Io`]; then there is no file.
    pub fn finish(self) -> Result<()> {
        check_complete(self.written, self.header.samples)?;
        self.file.finish()
    }

    /// Puts a cache in place that has only the samples written so far.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; then there is no file.
    pub fn finish_early(mut self) -> Result<()> {
        let header = Header { samples: self.written, ..self.header };
        self.file.revise(|file| file.write_at(0, &header.bytes()))?;
        self.file.finish()
    }
}

impl FrameWriter for Writer {
    fn write_frame(&mut self, frame: Frame<'_>) -> Result<()> {
        Self::write_frame(self, frame.positions)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Self::finish(*self)
    }

    fn finish_early(self: Box<Self>, _: Frame<'_>) -> Result<()> {
        Self::finish_early(*self)
    }
}

/// A cache that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct PointCache {
    header: Header,
    positions: Vec<[f32; 3]>,
}

impl PointCache {
    /// What the file said about itself.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The positions of one sample, m; `None` beyond the last.
    pub fn sample(&self, index: usize) -> Option<&[[f32; 3]]> {
        let points = self.header.points as usize;
        if index >= self.header.samples as usize {
            return None;
        }
        self.positions.get(index * points..(index + 1) * points)
    }
}

/// Reads a whole cache. The length of the file must be what its header implies; nothing is
/// allocated before that is known.
///
/// # Errors
///
/// [`Error::Io`], and [`Error::Malformed`] saying why.
pub fn read(path: impl AsRef<Path>) -> Result<PointCache> {
    let mut reader = Reader::open(path)?;
    let count = u64::from(reader.header.points) * u64::from(reader.header.samples);
    let positions = read_points(&mut reader.file, count).map_err(|source| reader.error(source))?;
    Ok(PointCache { header: reader.header, positions })
}

/// Reads a cache sample by sample; memory does not grow with their number.
#[derive(Debug)]
pub struct Reader {
    file: BufReader<File>,
    header: Header,
    path: PathBuf,
}

impl Reader {
    /// Opens a cache. The length of the file must be what its header implies.
    ///
    /// # Errors
    ///
    /// As [`read()`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let io = |source| Error::Io { path: path.to_owned(), source };
        let malformed = |reason| Error::Malformed { path: path.to_owned(), reason };

        let file = File::open(path).map_err(io)?;
        let found = file.metadata().map_err(io)?.len();
        if found < HEADER_BYTES {
            return Err(malformed(format!("{found} bytes are too few for its header")));
        }
        let mut file = BufReader::new(file);
        let mut bytes = [0; HEADER_BYTES as usize];
        file.read_exact(&mut bytes).map_err(io)?;
        let header = Header::parse(&bytes).map_err(malformed)?;
        // Two counts below 2³¹ cannot overflow; their product times twelve can.
        let count = u64::from(header.points) * u64::from(header.samples);
        let expected = count.checked_mul(POINT_BYTES).and_then(|bytes| bytes.checked_add(HEADER_BYTES));
        if expected != Some(found) {
            let Header { points, samples, .. } = header;
            return Err(malformed(format!("{found} bytes are not {samples} samples of {points} points")));
        }
        Ok(Self { file, header, path: path.to_owned() })
    }

    /// What the file says about itself.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The positions of one sample, m; `None` beyond the last.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn sample(&mut self, index: u32) -> Result<Option<Vec<[f32; 3]>>> {
        if index >= self.header.samples {
            return Ok(None);
        }
        let points = u64::from(self.header.points);
        let start = HEADER_BYTES + u64::from(index) * points * POINT_BYTES;
        let positions = self.file.seek(SeekFrom::Start(start)).and_then(|_| read_points(&mut self.file, points));
        positions.map(Some).map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> Error {
        Error::Io { path: self.path.clone(), source }
    }
}

fn read_points(file: &mut impl Read, count: u64) -> io::Result<Vec<[f32; 3]>> {
    let memory = |_| io::Error::from(io::ErrorKind::OutOfMemory);
    let count = usize::try_from(count).map_err(memory)?;
    let mut positions = Vec::new();
    positions.try_reserve_exact(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
    for _ in 0..count {
        let mut position = [0.0; 3];
        for coordinate in &mut position {
            let mut bytes = [0; 4];
            file.read_exact(&mut bytes)?;
            *coordinate = f32::from_le_bytes(bytes);
        }
        positions.push(position);
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { points: 2, samples: 3, start: 1.5, rate: 0.5 };
    const SAMPLES: [[[f32; 3]; 2]; 3] = [
        [[0.1, -0.0, 3.0e-45], [1.0, 2.0, 3.0]],
        [[f32::MAX, f32::MIN_POSITIVE, -1.0], [4.0, 5.0, 6.0]],
        [[1.0 / 3.0, 7.0, 8.0], [9.0, 10.0, 11.0]],
    ];

    fn written(path: &Path) -> Writer {
        let mut writer = Writer::create(path, HEADER).unwrap();
        for sample in SAMPLES {
            writer.write_frame(&sample).unwrap();
        }
        writer
    }

    #[test]
    fn round_trip_is_exact_and_bytes_are_as_specified() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.pc2");
        written(&path).finish().unwrap();

        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 32 + 3 * 2 * 12);
        let head = b"POINTCACHE2\0\x01\0\0\0\x02\0\0\0\0\0\xc0\x3f\0\0\0\x3f\x03\0\0\0";
        assert_eq!(&bytes[..32], head);
        assert_eq!(&bytes[44..56], b"\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40");

        let cache = read(&path).unwrap();
        assert_eq!(cache.header(), HEADER);
        for (index, sample) in SAMPLES.iter().enumerate() {
            let bits = |list: &[[f32; 3]]| list.as_flattened().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(cache.sample(index).unwrap()), bits(sample));
        }
        assert_eq!(cache.sample(3), None);
        assert_eq!(cache.sample(usize::MAX), None);

        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(reader.header(), HEADER);
        for index in [2, 0, 1] {
            let sample = reader.sample(index).unwrap();
            assert_eq!(sample.as_deref(), cache.sample(index as usize));
        }
        assert_eq!(reader.sample(3).unwrap(), None);
    }

    #[test]
    fn promises_are_kept_or_no_file_appears() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.pc2");

        let mut writer = written(&path);
        let result = writer.write_frame(&SAMPLES[0]);
        let expected = "frames has 4 entries, but needs 3";
        assert_eq!(result.unwrap_err().to_string(), expected);
        drop(writer);

        let mut writer = Writer::create(&path, HEADER).unwrap();
        let result = writer.write_frame(&SAMPLES[0][..1]);
        assert!(matches!(result, Err(Error::LengthMismatch { expected: 2, found: 1, .. })));
        let result = writer.write_frame(&[[0.0; 3], [0.0, f32::INFINITY, 0.0]]);
        assert!(matches!(result, Err(Error::NotFinite { field: "positions", index: 1 })));
        writer.write_frame(&SAMPLES[0]).unwrap();
        let result = writer.finish();
        assert!(matches!(result, Err(Error::LengthMismatch { expected: 3, found: 1, .. })));

        for header in [
            Header { points: 1 << 31, ..HEADER },
            Header { samples: u32::MAX, ..HEADER },
            Header { start: f32::NAN, ..HEADER },
            Header { rate: 0.0, ..HEADER },
        ] {
            assert!(matches!(Writer::create(&path, header), Err(Error::OutOfRange { .. })));
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn malformed_files_are_named_and_explained() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.pc2");
        written(&path).finish().unwrap();
        let good = std::fs::read(&path).unwrap();

        let changed = |at: usize, word: [u8; 4]| {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&word);
            bytes
        };
        let cases = [
            (vec![], "0 bytes are too few for its header"),
            (good[..31].to_vec(), "31 bytes are too few for its header"),
            (changed(0, *b"poin"), "it does not start with POINTCACHE2"),
            (changed(12, 2_i32.to_le_bytes()), "its version is 2, only 1 is known"),
            (changed(16, (-1_i32).to_le_bytes()), "the number of points is -1"),
            (changed(28, i32::MIN.to_le_bytes()), "the number of samples is -2147483648"),
            (good[..103].to_vec(), "103 bytes are not 3 samples of 2 points"),
            (changed(28, 4_i32.to_le_bytes()), "104 bytes are not 4 samples of 2 points"),
            (
                [&SIGNATURE[..], &[1, 0, 0, 0], &[255, 255, 255, 127], &[0; 8], &[255, 255, 255, 127]].concat(),
                "32 bytes are not 2147483647 samples of 2147483647 points",
            ),
        ];
        for (bytes, expected) in cases {
            std::fs::write(&path, bytes).unwrap();
            match read(&path) {
                Err(Error::Malformed { path: named, reason }) => {
                    assert_eq!((named.as_path(), reason.as_str()), (path.as_path(), expected));
                }
                other => panic!("{expected}: {other:?}"),
            }
        }
        let missing = directory.path().join("missing");
        assert!(matches!(read(missing), Err(Error::Io { .. })));
    }
}
