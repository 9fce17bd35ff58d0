"""Where the server's own log goes, HOME/server.jsonl, and what the console says; both bounded."""

import logging
import logging.handlers
import threading
from pathlib import Path
from typing import IO

import structlog

FILE_BYTES_MAX = 8 << 20
FILES_KEPT = 3
CONSOLE_BYTES_MAX = 1 << 20
LINE_BYTES_MAX = 16 << 10


def set_up_logs(home: Path) -> None:
    """Send what is logged, by us and by libraries, to a rotating file of JSON lines."""
    handler = logging.handlers.RotatingFileHandler(
        home / "server.jsonl", maxBytes=FILE_BYTES_MAX, backupCount=FILES_KEPT, encoding="utf-8"
    )
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def pour(said: IO[bytes], path: Path) -> threading.Thread:
    """Write what a process says into a file that stays bounded, on a thread that ends with the process."""
    handler = logging.handlers.RotatingFileHandler(
        path, maxBytes=CONSOLE_BYTES_MAX, backupCount=1, encoding="utf-8"
    )

    def go() -> None:
        with said:
            for line in iter(lambda: said.readline(LINE_BYTES_MAX), b""):
                text = line.decode(errors="replace").rstrip("\n")
                handler.handle(logging.makeLogRecord({"msg": text}))
        handler.close()

    thread = threading.Thread(target=go, name=path.name, daemon=True)
    thread.start()
    return thread
