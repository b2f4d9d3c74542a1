//! The mock's own tests: an instrument that reports nothing proves nothing until it has been seen to report.

mod faults;
mod prefix;
mod requests;
mod rules;
mod script;
mod wires;

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use crate::support::mock::Mock;

/// Sends `body` as a client would and returns the status and the body of the response.
async fn post(mock: &Mock, path: &str, body: &Value) -> (u16, String) {
    post_with(mock, path, &body.to_string(), &[]).await
}

async fn post_with(mock: &Mock, path: &str, body: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let response = send(mock, path, body, headers).await.unwrap();
    let status = response.status().as_u16();
    (status, response.text().await.unwrap())
}

async fn send(
    mock: &Mock,
    path: &str,
    body: &str,
    headers: &[(&str, &str)],
) -> Result<reqwest::Response, reqwest::Error> {
    let mut request = client()
        .post(format!("{}{path}", mock.url()))
        .header("content-type", "application/json")
        .header("x-api-key", "sk-test")
        .body(body.to_owned());
    if path.starts_with("/v1/messages") {
        request = request.header("anthropic-version", "2023-06-01");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await
}

/// Every test has a runtime of its own, so no connection outlives its request.
fn client() -> &'static reqwest::Client {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    CLIENT.get_or_init(|| {
        let address = "http://127.0.0.1".parse().unwrap();
        mxd::net::client(&address, Duration::from_secs(5), |builder| builder.pool_max_idle_per_host(0)).unwrap()
    })
}

/// Returns the data of the events of a stream, in order.
fn events(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}
