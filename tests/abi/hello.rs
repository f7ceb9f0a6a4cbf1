// SPDX-License-Identifier: Apache-2.0
// hello.rs - the template's hook in Rust, from the C headers by hand: no shell, compaction at 70 %.
#![crate_type = "cdylib"]
#![allow(non_camel_case_types)]
use std::ffi::c_void;
use std::mem::size_of;
use std::ptr::null;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct agentd_str { ptr: *const u8, len: usize }
#[repr(C)]
pub struct agentd_list { first: *const c_void, count: u32, stride: u32 }
#[repr(C)]
pub struct agentd_action { size: u32, kind: u16, flags: u16 }
#[repr(C)]
pub struct agentd_act_text { h: agentd_action, target: u32, reserved0: u32, text: agentd_str }
#[repr(C)]
pub struct agentd_act_compact {
    h: agentd_action, strategy: u32, reserved0: u32, keep_tokens: u64, model: agentd_str, instructions: agentd_str,
}
#[repr(C)]
pub struct agentd_gauge {
    size: u32, source: u32, used: u64, limit: u64, compact_at: u64, force_at: u64, floor: u64, compactions: u32,
    reserved0: u32,
}
#[repr(C)]
pub struct agentd_tool_call { size: u32, flags: u32, name: agentd_str }
#[repr(C)]
pub struct agentd_agent_stop {
    size: u32, flags: u32, continuation: u32, stop_reason: u32, response: agentd_str, usage: *const c_void,
    context: *const agentd_gauge,
}
#[repr(C)]
pub struct agentd_core {
    size: u32, host_minor: u32,
    fail: *const c_void, log: *const c_void, query: *const c_void, event_id: *const c_void,
    emit: extern "C" fn(*const agentd_core, u64, *const agentd_action) -> i32,
}
#[repr(C)]
pub struct agentd_call {
    size: u32, event: u32, token: u64, conversation: u64, live: *const c_void, core: *const agentd_core,
    services: *const c_void, envelope: *const c_void, payload: *const c_void,
}
type agentd_fn = extern "C" fn(*mut c_void, *const agentd_call) -> i32;
#[repr(C)]
pub struct agentd_hook { event: u32, flags: u16, priority: i16, function: agentd_fn, wants: u64 }
#[repr(C)]
pub struct agentd_plugin {
    size: u32, concurrency: u32, id: agentd_str, version: agentd_str,
    create: extern "C" fn(*const agentd_call, *mut *mut c_void) -> i32,
    destroy: Option<agentd_fn>, save_state: Option<agentd_fn>, load_state: Option<agentd_fn>, hooks: agentd_list,
}
#[repr(C)]
pub struct agentd_negotiate {
    size: u32, flags: u32, host_abi_min: u32, host_abi_max: u32, magic: u32, abi: u32, plugin: *const agentd_plugin,
    error: agentd_str,
}
struct Shared<T>(T);
unsafe impl<T> Sync for Shared<T> {}

const ABI: u32 = 1 << 16;
const fn text(from: &'static str) -> agentd_str { agentd_str { ptr: from.as_ptr(), len: from.len() } }
const NOTHING: agentd_str = agentd_str { ptr: null(), len: 0 };

extern "C" fn create(_: *const agentd_call, out: *mut *mut c_void) -> i32 {
    unsafe { *out = std::ptr::null_mut() };
    0
}

extern "C" fn no_shell(_: *mut c_void, call: *const agentd_call) -> i32 {
    let call = unsafe { &*call };
    let name = unsafe { (*(call.payload as *const agentd_tool_call)).name };
    if unsafe { std::slice::from_raw_parts(name.ptr, name.len) } != b"bash" { return 0 }
    let h = agentd_action { size: size_of::<agentd_act_text>() as u32, kind: 1, flags: 0 };
    let act = agentd_act_text { h, target: 0, reserved0: 0, text: text("no shell here") };
    unsafe { ((*call.core).emit)(call.core, call.token, &act.h) }
}

extern "C" fn compact_when_full(_: *mut c_void, call: *const agentd_call) -> i32 {
    let call = unsafe { &*call };
    let gauge = unsafe { (*(call.payload as *const agentd_agent_stop)).context.as_ref() };
    match gauge {
        Some(gauge) if gauge.limit != 0 && gauge.used * 10 > gauge.limit * 7 => {
            let h = agentd_action { size: size_of::<agentd_act_compact>() as u32, kind: 3, flags: 0 };
            let act = agentd_act_compact {
                h, strategy: 0, reserved0: 0, keep_tokens: 0, model: NOTHING, instructions: NOTHING,
            };
            unsafe { ((*call.core).emit)(call.core, call.token, &act.h) }
        }
        _ => 0,
    }
}

static HOOKS: Shared<[agentd_hook; 2]> = Shared([
    agentd_hook { event: 9, flags: 0, priority: 0, function: no_shell, wants: 0 },
    agentd_hook { event: 13, flags: 0, priority: 0, function: compact_when_full, wants: 0 },
]);
static PLUGIN: Shared<agentd_plugin> = Shared(agentd_plugin {
    size: size_of::<agentd_plugin>() as u32, concurrency: 2, id: text("org.example.hello"), version: text("1.0.0"),
    create, destroy: None, save_state: None, load_state: None,
    hooks: agentd_list {
        first: &HOOKS.0 as *const _ as *const c_void, count: 2, stride: size_of::<agentd_hook>() as u32,
    },
});

#[no_mangle]
pub extern "C" fn agentd_hook_entry_v1(io: *mut agentd_negotiate) -> i32 {
    let io = unsafe { &mut *io };
    io.magic = 0x4B48_4741;
    io.abi = ABI;
    if io.host_abi_max >> 16 != 1 || io.host_abi_max < ABI {
        io.error = text("this hook is built for another hook ABI than this agentd has");
        return -3;
    }
    io.plugin = &PLUGIN.0;
    0
}

// The manifest: an ELF note, owner "agentd", type 1.
const MANIFEST: &[u8; 128] =
    b"{\"id\":\"org.example.hello\",\"version\":\"1.0.0\",\"abi\":\"1.0\",\"events\":[\"before_tool_call\",\"agent_stop\"],\"concurrency\":\"concurrent\"}\0\0";
#[repr(C)]
struct Note { name_bytes: u32, text_bytes: u32, kind: u32, name: [u8; 8], text: [u8; 128] }
#[used]
#[link_section = ".note.agentd"]
static NOTE: Note = Note { name_bytes: 7, text_bytes: 127, kind: 1, name: *b"agentd\0\0", text: *MANIFEST };
