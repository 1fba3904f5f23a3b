"""The address that is served: is it free, does it answer?"""

import errno
import http.client
import socket


def is_free(host: str, port: int) -> bool:
    """Can we listen there? Other errors (no right to a port below 1024) are raised as they are."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True


def answers(host: str, port: int, path: str = "/login/") -> bool:
    """Does the page there come without a server error?"""
    connection = http.client.HTTPConnection(_reachable(host), port, timeout=5)
    try:
        connection.request("GET", path, headers={"Host": f"localhost:{port}"})
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def url(host: str, port: int) -> str:
    return f"http://{_reachable(host)}:{port}/"


def _reachable(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "") else host  # noqa: S104  # compared, not bound
