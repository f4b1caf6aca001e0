//! normalizers
