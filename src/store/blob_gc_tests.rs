use std::sync::Arc;

use super::*;
use crate::store::{Blobs, RealDisk};

#[test]
fn a_blob_is_used_if_its_name_is_anywhere_even_in_damaged_lines() {
    let folder = tempfile::tempdir().unwrap();
    let blobs_folder = folder.path().join("blobs");
    let blobs = Blobs::new(Arc::new(RealDisk), &blobs_folder);
    let [used, torn, split, unused_blob] =
        ["used", "torn", "split", "unused"].map(|text| blobs.put(text.as_bytes()).unwrap());
    let session = folder.path().join("a.jsonl");
    std::fs::write(&session, format!("{{\"blob\":\"{}\"}}\n{{\"blob\":\"f{}", used.blob, torn.blob)).unwrap();
    // A name across the boundary of two chunks.
    let padding = "-".repeat(CHUNK - 30);
    let other = folder.path().join("b.jsonl");
    std::fs::write(&other, format!("{padding}{}", split.blob)).unwrap();

    let unused = unused_blobs(&RealDisk, &blobs_folder, &[session.clone(), other]).unwrap();
    assert_eq!(unused.into_iter().collect::<Vec<_>>(), [(unused_blob.blob, 6)]);
    let unused = unused_blobs(&RealDisk, &blobs_folder, &[session]).unwrap();
    assert!(unused.contains_key(&split.blob), "it is not simply everything that counts as used");
}

#[test]
fn an_unreadable_file_frees_nothing() {
    let folder = tempfile::tempdir().unwrap();
    Blobs::new(Arc::new(RealDisk), folder.path()).put(b"x").unwrap();
    assert!(unused_blobs(&RealDisk, folder.path(), &[folder.path().join("missing")]).is_err());
}
