use std::io::Cursor;

use super::*;

async fn read_bytes(bytes: &[u8], limit: usize) -> Result<Option<Vec<u8>>, FrameError> {
    read(&mut Cursor::new(bytes), limit).await
}

#[tokio::test]
async fn frames_come_back_in_order_and_then_the_end() {
    let mut bytes = encode(&serde_json::json!({ "a": 1 })).unwrap();
    bytes.extend(join(&[b"[1,", b"2]"]).unwrap());
    let mut from = Cursor::new(bytes);
    assert_eq!(read(&mut from, 100).await.unwrap().unwrap(), b"{\"a\":1}");
    assert_eq!(read(&mut from, 100).await.unwrap().unwrap(), b"[1,2]");
    assert!(read(&mut from, 100).await.unwrap().is_none());
}

#[tokio::test]
async fn a_frame_over_the_limit_is_refused_before_it_is_read() {
    let error = read_bytes(&[0, 0, 1, 0], 255).await.unwrap_err();
    assert!(matches!(error, FrameError::TooLong { length: 256, limit: 255 }), "{error:?}");
    let error = read_bytes(&[0xff; 4], MAX_REQUEST).await.unwrap_err();
    assert!(matches!(error, FrameError::TooLong { .. }), "{error:?}");
}

#[tokio::test]
async fn a_connection_that_ends_inside_a_frame_is_an_error_at_every_byte() {
    let whole = encode(&"words").unwrap();
    for cut in 1..whole.len() {
        let error = read_bytes(&whole[..cut], 100).await.unwrap_err();
        assert!(matches!(error, FrameError::Truncated), "{cut}: {error:?}");
    }
}

#[tokio::test]
async fn an_announced_length_allocates_nothing() {
    // 90 MB are announced and three bytes sent.
    let mut bytes = (90u32 << 20).to_be_bytes().to_vec();
    bytes.extend(b"abc");
    assert!(matches!(read_bytes(&bytes, MAX_REQUEST).await.unwrap_err(), FrameError::Truncated));
}
