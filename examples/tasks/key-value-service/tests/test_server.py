"""The server stores and returns bytes, for several clients at once."""

import http.client
import socket
import time

import pytest


@pytest.fixture(scope="module", autouse=True)
def server() -> None:
    """Waits until the server listens."""
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", 8080), timeout=1).close()
        except OSError:
            time.sleep(0.1)
    pytest.fail("nothing listens on port 8080")


def asked(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    """Returns the status and the body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=5)
    connection.request(method, path, body)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_what_was_stored_is_returned() -> None:
    assert asked("PUT", "/a", b"\x00one")[0] == 204
    assert asked("GET", "/a") == (200, b"\x00one")
    assert asked("PUT", "/a", b"two")[0] == 204
    assert asked("GET", "/a") == (200, b"two")


def test_what_was_never_stored_is_not_found() -> None:
    assert asked("GET", "/missing")[0] == 404


def test_a_silent_client_holds_up_nobody() -> None:
    with socket.create_connection(("127.0.0.1", 8080), timeout=5) as silent:
        silent.sendall(b"GET /a HTTP/1.1\r\n")
        assert asked("GET", "/missing")[0] == 404
