"""How the site's reference reads docstrings: examples become blocks, and a field's comment is what is said about it.

mkdocstrings calls it (`extensions` in mkdocs.yml).
"""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n(?:^(?!>>>)\S.*\n|^\.\.\. .*\n|^>>> .*\n)*)", re.MULTILINE)
COMMENT = re.compile(r"#\s*(?!noqa|type:|fmt:)(.+)$")


class OurDocstrings(griffe.Extension):  # type: ignore[misc]
    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            text = f"{obj.docstring.value}\n"
            obj.docstring.value = EXAMPLE.sub(lambda found: f"\n```pycon\n{found[0]}```\n", text)
        elif obj.is_attribute and obj.lineno and obj.parent and obj.parent.is_class:
            found = COMMENT.search(obj.lines_collection[obj.filepath][obj.lineno - 1])
            if found:
                obj.docstring = griffe.Docstring(found[1], lineno=obj.lineno, parent=obj)
