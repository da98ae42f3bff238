//! A checksum that is the same on every machine and with every compiler.

/// FNV-1a of 64 bits: finds damage and tells inputs apart; keeps nobody from forging them.
///
/// ```
/// let mut checksum = taut::engine::checksum::Checksum::default();
/// checksum.add(b"foobar");
/// assert_eq!(checksum.value(), 0x8594_4171_f739_67e8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(u64);

impl Default for Checksum {
    /// Of nothing.
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// The checksum of everything that was added.
    pub fn value(self) -> u64 {
        self.0
    }
}
