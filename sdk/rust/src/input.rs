//! The input buffer, kept between calls. The crate needs no allocator for it.

#[cfg(not(target_os = "wasi"))]
mod pages {
    use core::arch::wasm32::{memory_grow, memory_size};

    const PAGE: usize = 65536;

    /// Pages of its own at the end of memory, extended in place as long as
    /// nothing else has grown the memory.
    pub struct Input {
        start: usize,
        end: usize,
    }

    impl Input {
        pub const fn new() -> Self {
            Input { start: 0, end: 0 }
        }

        pub fn alloc(&mut self, size: usize) -> *mut u8 {
            let pages = (size + PAGE - 1) / PAGE;
            if pages > self.end - self.start {
                let now = memory_size(0);
                if now != self.end {
                    self.start = now;
                    self.end = now;
                }
                if memory_grow(0, self.start + pages - self.end) == usize::MAX {
                    return core::ptr::null_mut();
                }
                self.end = self.start + pages;
            }
            (self.start * PAGE) as *mut u8
        }
    }
}

#[cfg(target_os = "wasi")]
mod heap {
    extern "C" {
        fn malloc(size: usize) -> *mut u8;
        fn free(block: *mut u8);
    }

    /// A block of the C library, whose allocator takes all pages that it finds
    /// for its own.
    pub struct Input {
        block: *mut u8,
        capacity: usize,
    }

    impl Input {
        pub const fn new() -> Self {
            Input { block: core::ptr::null_mut(), capacity: 0 }
        }

        pub fn alloc(&mut self, size: usize) -> *mut u8 {
            if size > self.capacity {
                self.capacity = (size + 65535) & !65535;
                // SAFETY: block is null or came from malloc.
                self.block = unsafe {
                    free(self.block);
                    malloc(self.capacity)
                };
            }
            self.block
        }
    }
}

#[cfg(target_os = "wasi")]
pub(crate) use heap::Input;
#[cfg(not(target_os = "wasi"))]
pub(crate) use pages::Input;
