use super::*;
use crate::serve::testing::FakePort;

#[tokio::test(start_paused = true)]
async fn an_engine_is_used_while_it_has_clients_or_work() {
    let idle = FakePort::default();
    let (clients, connected) = watch::channel(1);
    let handle = Handle::new(idle.clone());
    let waiting = tokio::spawn(async move { until_unused(&handle, connected).await });
    tokio::time::sleep(IDLE_TIMEOUT * 10).await;
    assert!(!waiting.is_finished(), "it has a client");
    clients.send_replace(0);
    tokio::time::sleep(IDLE_TIMEOUT / 2).await;
    clients.send_replace(1);
    tokio::time::sleep(IDLE_TIMEOUT).await;
    assert!(!waiting.is_finished(), "the client came back");
    clients.send_replace(0);
    tokio::time::sleep(IDLE_TIMEOUT * 2).await;
    assert!(waiting.is_finished());

    let mut busy = FakePort::default();
    busy.snapshot.quiet = false;
    let (_clients, connected) = watch::channel(0);
    let handle = Handle::new(busy);
    let used = tokio::time::timeout(IDLE_TIMEOUT * 10, until_unused(&handle, connected)).await;
    assert!(used.is_err(), "an agent works");
}

#[test]
fn a_unit_quotes_what_systemd_would_read() {
    let unit = systemd_unit("calc", "/opt/my tools/mxd", "/home/me/100% \"real\"");
    assert!(
        unit.contains("ExecStart=\"/opt/my tools/mxd\" -C \"/home/me/100%% \\\"real\\\"\" serve --stay\n"),
        "{unit}"
    );
}

#[test]
fn a_property_list_escapes_what_xml_would_read() {
    let list = launchd_plist("calc", "/usr/bin/mxd", "/home/me/<a&b>");
    assert!(list.contains("<string>/home/me/&lt;a&amp;b&gt;</string>"), "{list}");
    assert!(list.contains("<string>mxd.calc</string>"), "{list}");
}
