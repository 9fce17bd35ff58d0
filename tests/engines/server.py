"""A server with nothing but an engine: surveys, carries out orders, and prints what it hears."""

import sys
import time
from pathlib import Path

import msgspec

from starverse.engines.cards import Cards
from starverse.engines.clock import wall_ms
from starverse.engines.local import LocalEngine
from starverse.engines.sandbox import Isolation, Mode
from starverse.model.commands import Command

if __name__ == "__main__":
    home, mode, epoch, orders = sys.argv[1:]
    commands = msgspec.json.decode(Path(orders).read_bytes(), type=tuple[Command, ...])
    engine = LocalEngine(
        Path(home),
        node="here",
        cards=Cards("cpu", 8),
        now_ms=wall_ms,
        isolation=Isolation(msgspec.convert(mode, Mode)),
        epoch=int(epoch),
        unpack=lambda snapshot, destination: None,
        secrets_of=lambda tenant, names: {},
        uid_of={"alice": 61_001, "bob": 61_002}.__getitem__,
    )
    events = [*engine.survey([command.run for command in commands], wall_ms())]
    for command in commands:
        engine.act(command)
    while True:
        events += engine.poll(wall_ms())
        for event in events:
            sys.stdout.write(msgspec.json.encode(event).decode() + "\n")
        sys.stdout.flush()
        events.clear()
        time.sleep(0.02)
