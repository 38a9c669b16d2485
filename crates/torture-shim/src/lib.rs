#![doc = include_str!("../README.md")]

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod clock;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod fault;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod functions;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod log;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod watched;
