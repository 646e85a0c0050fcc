"""Archives as `docker image save` writes them, made without Docker."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

MTIME = 1_000_000_000
Entry = tuple[tarfile.TarInfo, bytes]


def entry(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> Entry:
    """One member of a layer."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode, member.mtime, member.size = kind, link, mode, MTIME, len(content)
    return member, content


def symlink(name: str, link: str) -> Entry:
    return entry(name, kind=tarfile.SYMTYPE, link=link)


def folder(name: str, mode: int = 0o755) -> Entry:
    return entry(name, kind=tarfile.DIRTYPE, mode=mode)


def tar(*entries: Entry) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for member, content in entries:
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def configuration(layers: Sequence[bytes], environment: Sequence[str] = (), architecture: str = "amd64") -> bytes:
    """An image's configuration, whose SHA-256 is the image's id."""
    digests = [f"sha256:{_digest(layer)}" for layer in layers]
    about = {"os": "linux", "architecture": architecture, "config": {"Env": list(environment)}}
    return json.dumps(about | {"rootfs": {"type": "layers", "diff_ids": digests}}).encode()


def docker(path: Path, config: bytes, layers: Sequence[bytes]) -> None:
    """Save as Docker does up to version 24."""
    names = [f"{index}/layer.tar" for index, _ in enumerate(layers)]
    manifest = [{"Config": "config.json", "RepoTags": ["trial:latest"], "Layers": names}]
    parts = {"config.json": config, "manifest.json": json.dumps(manifest).encode()}
    _write(path, parts | dict(zip(names, layers, strict=True)))


def oci(path: Path, config: bytes, layers: Sequence[bytes]) -> None:
    """Save as the OCI image layout has it, with an index of two platforms behind the index."""

    def described(content: bytes, **more: Any) -> dict[str, Any]:
        blobs[f"blobs/sha256/{_digest(content)}"] = content
        return {"digest": f"sha256:{_digest(content)}", "size": len(content), **more}

    blobs: dict[str, bytes] = {}
    manifest = {"config": described(config), "layers": [described(layer) for layer in layers]}
    ours = described(json.dumps(manifest).encode(), platform={"os": "linux", "architecture": "amd64"})
    other = described(b"{}", platform={"os": "unknown", "architecture": "unknown"})
    index = described(json.dumps({"manifests": [other, ours]}).encode())
    _write(path, blobs | {"index.json": json.dumps({"manifests": [index]}).encode()})


def _write(path: Path, parts: dict[str, bytes]) -> None:
    path.write_bytes(tar(*(entry(name, content) for name, content in parts.items())))


LAYOUTS: dict[str, Callable[[Path, bytes, Sequence[bytes]], None]] = {"docker": docker, "oci": oci}
