//! Reading the little-endian input buffer in place.

/// A trajectory buffer. The host wrote it: offsets lie inside, strings are
/// valid UTF-8. Slices are bounds-checked all the same.
#[derive(Clone, Copy)]
pub(crate) struct Buffer<'a>(pub &'a [u8]);

impl<'a> Buffer<'a> {
    pub fn u32(self, at: usize) -> u32 {
        let b = &self.0[at..at + 4];
        u32::from_le_bytes([b[0], b[1], b[2], b[3]])
    }

    pub fn i32(self, at: usize) -> i32 {
        self.u32(at) as i32
    }

    pub fn f64(self, at: usize) -> f64 {
        f64::from_bits(u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32)
    }

    pub fn str(self, at: usize) -> &'a str {
        let start = self.u32(at) as usize;
        let bytes = &self.0[start..start + self.u32(at + 4) as usize];
        // SAFETY: the ABI promises valid UTF-8, and a guest is only ever
        // entered by a host that keeps the ABI.
        unsafe { core::str::from_utf8_unchecked(bytes) }
    }

    /// The position of row i of the table described at header offset t.
    pub fn row(self, t: usize, i: usize) -> usize {
        self.u32(t + 4) as usize + i * self.u32(t + 8) as usize
    }

    /// The buffer inside this one.
    pub fn sub(self, offset: usize, size: usize) -> Buffer<'a> {
        Buffer(&self.0[offset..offset + size])
    }
}
