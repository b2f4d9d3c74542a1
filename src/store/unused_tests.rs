use std::sync::Arc;

use super::*;
use crate::store::{Blobs, RealDisk};

#[test]
fn a_blob_is_used_if_its_name_stands_anywhere_even_in_ruins() {
    let folder = tempfile::tempdir().unwrap();
    let blobs_folder = folder.path().join("blobs");
    let kept = Blobs::new(Arc::new(RealDisk), &blobs_folder);
    let [said, torn, split, nobodys] =
        ["said", "torn", "split", "nobody's"].map(|text| kept.put(text.as_bytes()).unwrap());
    let session = folder.path().join("a.jsonl");
    std::fs::write(&session, format!("{{\"blob\":\"{}\"}}\n{{\"blob\":\"f{}", said.blob, torn.blob)).unwrap();
    // A name that lies on the edge of two chunks.
    let padding = "-".repeat(CHUNK - 30);
    let other = folder.path().join("b.jsonl");
    std::fs::write(&other, format!("{padding}{}", split.blob)).unwrap();

    let unused = blobs(&RealDisk, &blobs_folder, &[session.clone(), other]).unwrap();
    assert_eq!(unused.into_iter().collect::<Vec<_>>(), [(nobodys.blob, 8)]);
    let unused = blobs(&RealDisk, &blobs_folder, &[session]).unwrap();
    assert!(unused.contains_key(&split.blob), "it is not simply everything that counts as used");
}

#[test]
fn a_file_that_cannot_be_read_frees_nothing() {
    let folder = tempfile::tempdir().unwrap();
    Blobs::new(Arc::new(RealDisk), folder.path()).put(b"x").unwrap();
    assert!(blobs(&RealDisk, folder.path(), &[folder.path().join("missing")]).is_err());
}
