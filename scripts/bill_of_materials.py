"""What ropeval is made of, as CycloneDX JSON, from the lock with hashes:

    python scripts/bill_of_materials.py requirements-dev.lock ropeval.cdx.json

What users get is `required`; what only developers need is `optional`.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9_.\-]+)(\[[^\]]*\])?==(?P<version>[^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
VIA = re.compile(r"^\s+#\s+(?:via\s+)?([A-Za-z0-9_.\-]+)\s*(\(.*\))?$")


class Component(NamedTuple):
    name: str
    version: str
    hashes: list[str]
    asked_by: list[str]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(text: str) -> list[Component]:
    found: list[Component] = []
    for line in text.splitlines():
        pinned = PINNED.match(line)
        if pinned:
            found.append(Component(_plain(pinned["name"]), pinned["version"], [], []))
        elif found and HASH.search(line):
            found[-1].hashes.extend(HASH.findall(line))
        elif found and (via := VIA.match(line)) and via[1] != "via":
            found[-1].asked_by.append(_plain(via[1]))
    return found


def required(components: list[Component], roots: list[str]) -> set[str]:
    """The roots, and all that they ask for, and so on."""
    known = {_plain(name) for name in roots}
    while True:
        more = {c.name for c in components if c.name not in known and known & set(c.asked_by)}
        if not more:
            return known
        known |= more


def bill(components: list[Component], roots: list[str], version: str) -> dict[str, Any]:
    needed = required(components, roots)
    me = f"pkg:pypi/ropeval@{version}"
    depends = {me: [c.purl for c in components if c.name in {_plain(name) for name in roots}]}
    depends |= {c.purl: [other.purl for other in components if c.name in other.asked_by] for c in components}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "library", "name": "ropeval", "version": version, "bom-ref": me, "purl": me}
        },
        "components": [
            {
                "type": "library",
                "bom-ref": c.purl,
                "name": c.name,
                "version": c.version,
                "purl": c.purl,
                "scope": "required" if c.name in needed else "optional",
                "hashes": [{"alg": "SHA-256", "content": content} for content in c.hashes],
            }
            for c in components
        ],
        "dependencies": [{"ref": ref, "dependsOn": sorted(on)} for ref, on in sorted(depends.items())],
    }


def roots() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.split(r"[\[<>=!~ ]", requirement)[0] for requirement in project["dependencies"]]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> int:
    lock, target = Path(sys.argv[1]), Path(sys.argv[2])
    version = re.search(r'"(.+)"', (ROOT / "src/ropeval/version.py").read_text(encoding="utf-8"))
    assert version is not None
    made = bill(read_lock(lock.read_text(encoding="utf-8")), roots(), version[1])
    target.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    scopes = [component["scope"] for component in made["components"]]
    print(f"{target}: {scopes.count('required')} required, {scopes.count('optional')} for developers only")
    return 0


if __name__ == "__main__":
    sys.exit(main())
