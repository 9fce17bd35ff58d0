"""A port that is taken is named with the program that has it."""

import os
import socket
import threading

import pytest

from starverse.main.port import await_free, demand_free
from starverse.model.errors import PortTaken


def test_a_free_port_is_accepted() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    demand_free("127.0.0.1", port, "--port")


def test_a_taken_port_is_refused_with_who_has_it_and_what_to_do() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(PortTaken) as caught:
            demand_free("127.0.0.1", port, "--port")
    assert f"Port {port} is taken by " in caught.value.what
    assert f"(pid {os.getpid()})" in caught.value.what
    assert caught.value.remedy == "Choose another with --port."


def test_a_port_that_is_left_in_time_is_waited_for() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(PortTaken):
            await_free("127.0.0.1", port, "--port", 0.0)
        threading.Timer(0.2, listener.close).start()
        await_free("127.0.0.1", port, "--port", 20.0)
