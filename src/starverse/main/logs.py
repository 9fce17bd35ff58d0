"""Where the server's own log goes: HOME/server.jsonl, a line of JSON an event, bounded."""

import logging
import logging.handlers
from pathlib import Path

import structlog

FILE_BYTES_MAX = 8 << 20
FILES_KEPT = 3


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
