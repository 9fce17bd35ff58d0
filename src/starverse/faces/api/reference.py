"""The page at /docs: the OpenAPI document as plain HTML, made here, so that nothing comes from elsewhere."""

import base64
import hashlib
import json
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --get: #2a7; --post: #27c; --put: #a60; --delete: #c33 }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem 1rem 8rem }
h1 { font-size: 1.6rem } h2 { border-bottom: 1px solid var(--line); margin-top: 3rem; text-transform: capitalize }
nav a { display: inline-block; margin-right: 1rem; text-transform: capitalize }
code, pre { font: 13px/1.5 ui-monospace, monospace }
pre { background: var(--soft); border-radius: 6px; padding: .75rem; white-space: pre-wrap }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .4rem .75rem }
summary { cursor: pointer } summary code { font-size: 14px; margin-right: 1rem }
summary b { display: inline-block; font: bold 12px ui-monospace, monospace; width: 4rem }
.get { color: var(--get) } .post { color: var(--post) } .put { color: var(--put) } .delete { color: var(--delete) }
table { border-collapse: collapse; width: 100% } td { border-top: 1px solid var(--line); padding: .25rem .5rem; vertical-align: top }
.dim { opacity: .65 }
"""  # noqa: E501

POLICY = (
    "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    + "'"
)
"""The Content-Security-Policy of the page: its own style and nothing else."""


def page(document: dict[str, Any], base_url: str) -> str:
    """The whole page for an OpenAPI document; `base_url` stands in its examples."""
    nouns: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            noun = operation.get("tags", ["server"])[0]
            nouns.setdefault(noun, []).append(_operation(document, base_url, path, method, operation))
    links = "".join(f'<a href="#{escape(noun)}">{escape(noun)}</a>' for noun in (*nouns, "shapes"))
    sections = "".join(
        f'<h2 id="{escape(noun)}">{escape(noun)}</h2>{"".join(items)}' for noun, items in nouns.items()
    )
    schemas = document["components"]["schemas"]
    shapes = "".join(_shape(name, schema) for name, schema in sorted(schemas.items()))
    info = document["info"]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f'<p>{escape(info["description"])} For programs: <a href="/openapi.json">openapi.json</a>.</p>'
        f'<nav>{links}</nav>{sections}<h2 id="shapes">shapes</h2>{shapes}</html>'
    )


def _operation(
    document: dict[str, Any], base_url: str, path: str, method: str, operation: dict[str, Any]
) -> str:
    text = escape(operation.get("description", ""))
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code><td class=dim>{escape(p['in'])}"
        f"<td>{_type(p['schema'])}<td>{escape(p.get('description', ''))}"
        for p in operation.get("parameters", [])
    )
    body = operation.get("requestBody", {}).get("content", {})
    takes = "".join(
        f"<p>Takes {_type(content['schema'])}</p>" for content in body.values() if "schema" in content
    )
    gives = "".join(
        f"<tr><td><code>{escape(status)}</code><td>{escape(answer['description'])}"
        f"<td>{' '.join(_type(c['schema']) for c in answer.get('content', {}).values() if c.get('schema'))}"
        for status, answer in operation["responses"].items()
        if "$ref" not in answer
    )
    problems = ", ".join(status for status, answer in operation["responses"].items() if "$ref" in answer)
    return (
        f"<details><summary><b class={method}>{method.upper()}</b><code>{escape(path)}</code>"
        f"<span class=dim>{escape(operation.get('summary', ''))}</span></summary><p>{text}</p>"
        f"<table>{rows}</table>{takes}<table>{gives}</table><p class=dim>Problems: {problems}.</p>"
        f"<pre>{escape(_curl(document, base_url, path, method, operation))}</pre></details>"
    )


def _curl(document: dict[str, Any], base_url: str, path: str, method: str, operation: dict[str, Any]) -> str:
    words = ["curl"]
    if method != "get":
        words.append(f"-X {method.upper()}")
    if operation.get("security"):
        words.append('-H "Authorization: Bearer $STARVERSE_TOKEN"')
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        example = json.dumps(_example(document, body["schema"]))
        words.append(f"-H 'Content-Type: application/json' -d '{example}'")
    return " ".join([*words, base_url + path])


def _example(document: dict[str, Any], schema: dict[str, Any]) -> Any:
    """A small value of the schema: its own example, or what is required of it."""
    if "$ref" in schema:
        return _example(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "examples" in schema:
        return schema["examples"][0]
    if "default" in schema:
        return schema["default"]
    if "properties" in schema:
        needed = schema.get("required", [])
        return {name: _example(document, schema["properties"][name]) for name in needed}
    samples: dict[str, Any] = {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "array": []}
    return samples.get(schema.get("type", ""), "text")


def _shape(name: str, schema: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code><td>{_type(kind)}<td>{escape(kind.get('description', ''))}"
        for field, kind in schema.get("properties", {}).items()
    )
    return (
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        f"<p>{escape(schema.get('description', ''))}</p><table>{rows}</table></details>"
    )


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words, linked to its shape."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(value)) or '&quot;&quot;'}</code>" for value in schema["enum"])
    return escape(str(schema.get("type", schema.get("const", "any"))))
