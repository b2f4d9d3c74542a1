//! SOCKS5 with remote names (RFC 1928): connections only, no authentication.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::gate::Refusal;
use super::host::{Host, HostError, Target};

pub(super) const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// The code of an answer.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Code {
    Done = 0,
    Failed = 1,
    NotAllowed = 2,
    NoCommand = 7,
    NoAddress = 8,
}

/// Reads a request. `Ok(None)` if it was answered with an error.
pub(super) async fn request(stream: &mut TcpStream) -> io::Result<Option<Result<Target, HostError>>> {
    let [version, count] = read::<2>(stream).await?;
    let mut methods = vec![0; usize::from(count)];
    stream.read_exact(&mut methods).await?;
    if version != VERSION || !methods.contains(&NO_LOGIN) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Ok(None);
    }
    stream.write_all(&[VERSION, NO_LOGIN]).await?;
    let [version, command, _, kind] = read::<4>(stream).await?;
    if version != VERSION || command != CONNECT {
        answer(stream, Code::NoCommand).await?;
        return Ok(None);
    }
    let host = match kind {
        1 => Ok(Host::Address(Ipv4Addr::from(read::<4>(stream).await?).into())),
        4 => {
            let address = Ipv6Addr::from(read::<16>(stream).await?);
            Ok(Host::Address(std::net::IpAddr::V6(address).to_canonical()))
        }
        3 => {
            let [length] = read::<1>(stream).await?;
            let mut name = vec![0; usize::from(length)];
            stream.read_exact(&mut name).await?;
            std::str::from_utf8(&name).map_err(|_| HostError::Character).and_then(Host::parse)
        }
        _ => {
            answer(stream, Code::NoAddress).await?;
            return Ok(None);
        }
    };
    let port = u16::from_be_bytes(read::<2>(stream).await?);
    let port = if port == 0 { Err(HostError::Port) } else { Ok(port) };
    Ok(Some(host.and_then(|host| Ok(Target { host, port: port? }))))
}

pub(super) async fn accept(stream: &mut TcpStream) -> io::Result<()> {
    answer(stream, Code::Done).await
}

pub(super) async fn refuse(stream: &mut TcpStream, refusal: &Refusal) -> io::Result<()> {
    let code = match refusal {
        Refusal::Unreachable { .. } => Code::Failed,
        _ => Code::NotAllowed,
    };
    answer(stream, code).await
}

async fn answer(stream: &mut TcpStream, code: Code) -> io::Result<()> {
    stream.write_all(&[VERSION, code as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

async fn read<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
