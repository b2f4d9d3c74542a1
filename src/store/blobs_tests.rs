use super::*;
use crate::store::RealDisk;

#[test]
fn a_taken_file_becomes_the_blob_of_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(Arc::new(RealDisk), folder.path().join("blobs"));
    let file = folder.path().join("output");
    for size in [0, 1, CHUNK, 3 * CHUNK + 7] {
        let content: Vec<u8> = (0..size).map(|at| u8::try_from(at % 251).unwrap()).collect();
        std::fs::write(&file, &content).unwrap();
        let taken = blobs.take(&file).unwrap();
        assert!(!file.exists(), "{size}");
        assert_eq!(taken, blobs.put(&content).unwrap(), "{size}");
        assert_eq!(blobs.read(&taken.blob).unwrap(), content, "{size}");
    }
}

#[test]
fn existing_content_is_stored_once_and_the_file_removed() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(Arc::new(RealDisk), folder.path().join("blobs"));
    let first = blobs.put(b"the same").unwrap();
    let file = folder.path().join("output");
    std::fs::write(&file, b"the same").unwrap();
    assert_eq!(blobs.take(&file).unwrap(), first);
    assert!(!file.exists());
    assert_eq!(std::fs::read_dir(blobs.folder()).unwrap().count(), 1);
}

#[test]
fn a_missing_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(Arc::new(RealDisk), folder.path().join("blobs"));
    assert!(blobs.take(&folder.path().join("nowhere")).is_err());
}
