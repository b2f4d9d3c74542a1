use super::*;

#[test]
fn any_name_is_read_back_from_the_message() {
    let names: [&[u8]; 5] =
        [b"plain", b"tab\tquote\"'back\\slash", b"line\nbreak\r", b"caf\xe9\x00x", "größe".as_bytes()];
    let left: Vec<LeftOut> = names.iter().map(|name| LeftOut::Unreadable(OsStr::from_bytes(name).into())).collect();
    let task = TaskId::from_ulid(ulid::Ulid::nil());
    let text = message(task, TurnId::from_ulid(ulid::Ulid::nil()), &left);
    assert_eq!(left_out_of(&text), names.map(|name| PathBuf::from(OsStr::from_bytes(name))));
}
