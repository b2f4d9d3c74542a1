use super::*;

#[test]
fn secrets_in_a_file_are_overwritten_also_across_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let mut secrets = KnownSecrets::default();
    secrets.add(["abc-secret-123".to_owned()]);
    let mut content = vec![b'x'; CHUNK - 5];
    content.extend(b"abc-secret-123");
    content.extend(vec![b'y'; CHUNK + 30]);
    content.extend(b"abc-secret-123 end");
    std::fs::write(&path, &content).unwrap();
    mask_file(&path, &secrets).unwrap();
    let masked = std::fs::read(&path).unwrap();
    assert_eq!(masked.len(), content.len());
    assert!(memchr::memmem::find(&masked, b"abc-secret-123").is_none());
    assert!(masked.ends_with(b"************** end"));
}
