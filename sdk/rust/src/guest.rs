//! What the `register!` macros expand to: the exports of a module.

use crate::input::Input;
use crate::output::Output;
use crate::read::Buffer;
use crate::rollout::{Group, Rollout};

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
    0
}

#[no_mangle]
extern "C" fn merit_abi_1() {}

#[no_mangle]
extern "C" fn merit_alloc(size: usize) -> *mut u8 {
    // SAFETY: a module has one thread, and the host does not re-enter it.
    unsafe { (*core::ptr::addr_of_mut!(INPUT)).alloc(size) }
}

static mut INPUT: Input = Input::new();

/// Make `fn(&Rollout, &mut Output)` the reward of the module.
#[macro_export]
macro_rules! register {
    ($score:path) => {
        #[no_mangle]
        pub unsafe extern "C" fn merit_evaluate(ptr: *const u8, len: usize) -> i32 {
            $crate::guest::evaluate($score, ptr, len)
        }
    };
}

/// Make `fn()` the warm-up: it runs once, before the snapshot that every
/// evaluation begins from, in place of the built-in conversation. It may log
/// and must send no results.
#[macro_export]
macro_rules! register_warm_up {
    ($ready:path) => {
        #[no_mangle]
        pub extern "C" fn merit_warm_up() {
            $ready()
        }
    };
}

/// Make `fn(&Group, &mut Output)` the reward of groups. The status is 0:
/// `invalid` and `error` speak of one member.
#[macro_export]
macro_rules! register_group {
    ($score:path) => {
        #[no_mangle]
        pub unsafe extern "C" fn merit_evaluate_group(ptr: *const u8, len: usize) -> i32 {
            $crate::guest::evaluate_group($score, ptr, len)
        }
    };
}
