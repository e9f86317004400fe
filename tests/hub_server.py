"""A hub on this computer: the addresses huggingface_hub asks, answered from a dictionary of files."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHA = "a" * 40
BLOCK = 1 << 18


class HubServer:
    """Serves `files` as owner/name; `status` refuses everything, `pause` s are waited before each block."""

    def __init__(self, files: dict[str, bytes], **info) -> None:
        self.files, self.info = files, info
        self.status, self.error_code, self.pause = 0, "", 0.0
        self.asked: list[tuple[str, str, str]] = []  # method, path, range

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request as the hub does."""
        path, wanted = handler.path.split("?")[0], handler.headers.get("Range", "")
        self.asked.append((handler.command, path, wanted))
        if self.status and ("/resolve/" in path or self.status != 403):
            self.send(handler, self.status, b"{}", {"X-Error-Code": self.error_code})
        elif path == "/api/models/owner/name":
            siblings = [{"rfilename": name, "size": len(data)} for name, data in self.files.items()]
            about = {"id": "owner/name", "sha": SHA, "siblings": siblings, "tags": [], **self.info}
            self.send(handler, 200, json.dumps(about).encode(), {"Content-Type": "application/json"})
        elif path.startswith(f"/owner/name/resolve/{SHA}/") and (name := path.rsplit("/", 1)[1]) in self.files:
            data = self.files[name]
            tag = hashlib.sha256(data).hexdigest() if name.endswith(".safetensors") else hashlib.sha1(data).hexdigest()
            first = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
            headers = {"ETag": f'"{tag}"', "X-Repo-Commit": SHA}
            if first:
                headers["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
            self.send(handler, 206 if first else 200, data[first:], headers)
        else:
            self.send(handler, 404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def send(self, handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Send the body in blocks, slowly where asked to."""
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            if value:
                handler.send_header(name, value)
        handler.end_headers()
        for i in range(0, len(body) if handler.command == "GET" else 0, BLOCK):
            time.sleep(self.pause if len(body) > BLOCK else 0)
            handler.wfile.write(body[i : i + BLOCK])


@contextmanager
def serving(hub: HubServer) -> Iterator[str]:
    """Serve on a free port; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.answer(self)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # a client that was stopped closes in the middle
    server.daemon_threads = True
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
