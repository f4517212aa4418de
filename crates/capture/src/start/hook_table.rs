//! The functions that `interpose` calls.

use crate::observe::hooks::{self, AfterCall};
use crate::observe::{functions, places, python};
use crate::start::{control, recording};
use crate::write::thread_writer;
use interpose::{Arguments, Hooks, LaunchArguments, LaunchThunks, Launches, Span, Thread, WrappedFunction};
use std::ffi::c_int;

/// All hooks.
pub const HOOKS: Hooks = Hooks {
    waited: hooks::waited,
    wait_lost: hooks::wait_lost,
    tallied: hooks::tallied,
    keep_place: places::keep,
    promise: places::promise,
    give_place: places::give,
    holder_place: places::of_holder,
    recognize: python::gil_at,
    name: hooks::name,
    synchronizes: hooks::synchronizes,
    called,
    launches: &LAUNCH_THUNKS,
    number: functions::number,
    thread_unknown: hooks::thread_unknown,
    ended: thread_writer::ended,
    idle: control::idle,
};

/// A call is over.
fn called(
    thread: &'static Thread,
    wrapped: &'static WrappedFunction,
    args: &Arguments,
    span: Span,
    result: c_int,
) {
    match hooks::called(thread, wrapped, args, span, result) {
        AfterCall::LookAtControl => control::look(),
        AfterCall::StartRecording => recording::start(),
        AfterCall::Nothing => {}
    }
}

/// Plain launches.
struct LaunchHook;

static LAUNCH_THUNKS: LaunchThunks = LaunchThunks::of::<LaunchHook>();

impl Launches for LaunchHook {
    #[inline(always)]
    fn short(
        thread: &'static Thread,
        wrapped: &'static WrappedFunction,
        launch: &LaunchArguments,
        span: Span,
    ) -> bool {
        hooks::short_launch(thread, wrapped, launch, span)
    }

    #[cold]
    #[inline(never)]
    fn launched(
        thread: &'static Thread,
        wrapped: &'static WrappedFunction,
        launch: &LaunchArguments,
        span: Span,
        result: c_int,
    ) {
        if hooks::launched(thread, wrapped, launch, span, result) == AfterCall::LookAtControl {
            control::look();
        }
    }
}
