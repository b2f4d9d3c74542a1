use super::*;

#[test]
fn vendor_versions_are_parsed() {
    for (output, version) in [
        ("git version 2.39.5 (Apple Git-154)", Some(Version(2, 39, 5))),
        ("git version 2.47.0.windows.1", Some(Version(2, 47, 0))),
        ("git version 2.50", Some(Version(2, 50, 0))),
        ("git version 2.41.0-rc1", Some(Version(2, 41, 0))),
        ("git version unknown", None),
        ("", None),
    ] {
        assert_eq!(parse(output), version, "{output}");
    }
    assert!(MINIMUM_VERSION < RECOMMENDED_VERSION && Version(2, 9, 0) < MINIMUM_VERSION);
}
