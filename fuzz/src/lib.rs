//! What the fuzz targets of all normalizers do with their input. The tests of the normalizers run the same on a stable compiler.

#[path = "../../crates/normalizers/tests/common/laws.rs"]
pub mod laws;
pub mod program;
pub mod recordings;
pub mod run;
