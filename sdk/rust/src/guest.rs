//! What the `register!` macros expand to: the exports of a module.

use crate::output::Output;
use crate::read::Buffer;
use crate::rollout::{Group, Rollout};
use core::arch::wasm32::memory_grow;

const PAGE: usize = 65536;

/// The input buffer: pages of its own, kept between calls, so that the crate
/// needs no allocator.
pub struct Input {
    address: usize,
    capacity: usize,
}

impl Input {
    pub const fn new() -> Self {
        Input { address: 0, capacity: 0 }
    }

    pub fn alloc(&mut self, size: usize) -> *mut u8 {
        if size > self.capacity {
            let pages = (size + PAGE - 1) / PAGE;
            let old = memory_grow(0, pages);
            if old == usize::MAX {
                return core::ptr::null_mut();
            }
            self.address = old * PAGE;
            self.capacity = pages * PAGE;
        }
        self.address as *mut u8
    }
}

unsafe fn buffer<'a>(ptr: *const u8, len: usize) -> Buffer<'a> {
    Buffer(core::slice::from_raw_parts(ptr, len))
}

/// # Safety
/// `ptr` and `len` must describe the buffer that the host just wrote.
pub unsafe fn evaluate(score: fn(&Rollout, &mut Output), ptr: *const u8, len: usize) -> i32 {
    let mut out = Output { status: 0 };
    score(&Rollout(buffer(ptr, len)), &mut out);
    out.status
}

/// # Safety
/// As for `evaluate`.
pub unsafe fn evaluate_group(score: fn(&Group, &mut Output), ptr: *const u8, len: usize) -> i32 {
    let mut out = Output { status: 0 };
    score(&Group(buffer(ptr, len)), &mut out);
    out.status
}

#[doc(hidden)]
#[macro_export]
macro_rules! merit_buffer {
    () => {
        static mut MERIT_INPUT: $crate::guest::Input = $crate::guest::Input::new();

        #[no_mangle]
        pub extern "C" fn merit_abi_1() {}

        #[no_mangle]
        pub extern "C" fn merit_alloc(size: usize) -> *mut u8 {
            // SAFETY: a module has one thread, and the host does not re-enter it.
            unsafe { (*core::ptr::addr_of_mut!(MERIT_INPUT)).alloc(size) }
        }
    };
}

/// Make `fn(&Rollout, &mut Output)` the reward of the module.
#[macro_export]
macro_rules! register {
    ($score:path) => {
        $crate::merit_buffer!();

        #[no_mangle]
        pub unsafe extern "C" fn merit_evaluate(ptr: *const u8, len: usize) -> i32 {
            $crate::guest::evaluate($score, ptr, len)
        }
    };
}

/// Make `fn(&Group, &mut Output)` the reward of groups.
#[macro_export]
macro_rules! register_group {
    ($score:path) => {
        $crate::merit_buffer!();

        #[no_mangle]
        pub unsafe extern "C" fn merit_evaluate_group(ptr: *const u8, len: usize) -> i32 {
            $crate::guest::evaluate_group($score, ptr, len)
        }
    };
}
