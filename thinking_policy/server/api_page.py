# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The API page: OpenAPI as plain HTML.

FastAPI's own page loads its scripts from the internet, which a robot's site may not have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc } h3 { margin-bottom: 0.3rem }
code, pre { font: 14px/1.4 ui-monospace, monospace; background: #f3f3f3; border-radius: 4px }
code { padding: 0 0.2rem } pre { padding: 0.6rem; overflow-x: auto }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: 0.2rem 1rem 0.2rem 0 }
tr + tr { border-top: 1px solid #e5e5e5 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #161616 }
  code, pre { background: #262626 } a { color: #8ab4f8 } tr + tr { border-color: #333 } }
"""


def api_page(openapi: dict[str, Any]) -> str:
    """Return the page.

    Args:
        openapi: The description that is served as /openapi.json.
    """
    info = openapi['info']
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{escape(info["title"])} API</title><style>{_STYLE}</style></head><body>',
        f'<h1>{escape(info["title"])} {escape(info["version"])}</h1>',
        *(f'<p>{_text(part)}</p>' for part in info['description'].strip().split('\n\n')),
        '<p>For programs: <a href="openapi.json">openapi.json</a></p><h2>Requests</h2>',
    ]
    for path, methods in openapi['paths'].items():
        for method, operation in methods.items():
            parts += _operation(method.upper(), path, operation)
    parts.append('<h2>Models</h2>')
    for name, schema in sorted(openapi['components']['schemas'].items()):
        parts += _model(name, schema)
    return '\n'.join([*parts, '</body></html>'])


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f'<h3><code>{method} {escape(path)}</code> {escape(operation["summary"])}</h3>'
    for part in operation.get('description', '').split('\n\n'):
        yield f'<p>{_text(part)}</p>'
    if 'security' in operation:
        yield '<p>Needs <code>Authorization: Bearer TOKEN</code>.</p>'
    if operation.get('parameters'):
        yield '<table><tr><th>parameter</th><th>in</th><th>type</th><th></th></tr>'
        for one in operation['parameters']:
            yield _row(
                f'<code>{escape(one["name"])}</code>',
                escape(one['in']),
                _type(one['schema']),
                _text(one.get('description', '')),
            )
        yield '</table>'
    for kind, content in operation.get('requestBody', {}).get('content', {}).items():
        yield f'<p>Body: <code>{escape(kind)}</code>, {_type(content["schema"])}</p>'
    yield '<table><tr><th>answer</th><th>meaning</th><th>body</th></tr>'
    for status, response in sorted(operation['responses'].items()):
        bodies = [
            f'<code>{escape(kind)}</code> {_type(content.get("schema", {}))}'
            for kind, content in response.get('content', {}).items()
        ]
        meaning = _text(response['description'])
        for name, header in response.get('headers', {}).items():
            meaning += f'<br><code>{escape(name)}</code>: {_text(header["description"])}'
        yield _row(escape(status), meaning, '<br>'.join(bodies))
    yield '</table>'


def _model(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f'<h3 id="{escape(name)}">{escape(name)}</h3>'
    for part in schema.get('description', '').split('\n\n'):
        yield f'<p>{_text(part)}</p>'
    if 'enum' in schema:
        yield f'<p>{_type(schema)}</p>'
    if schema.get('properties'):
        needed = schema.get('required', [])
        yield '<table>'
        for field, kind in schema['properties'].items():
            optional = '' if field in needed else ' (optional)'
            yield _row(
                f'<code>{escape(field)}</code>{optional}',
                _type(kind),
                _text(kind.get('description', '')),
            )
        yield '</table>'
    for example in schema.get('examples', []):
        text = example if isinstance(example, str) else json.dumps(example, indent=2)
        yield f'<pre>{escape(text)}</pre>'


def _type(schema: dict[str, Any]) -> str:
    """Return a schema in a few words, models as links."""
    if '$ref' in schema:
        name = escape(schema['$ref'].rpartition('/')[2])
        return f'<a href="#{name}">{name}</a>'
    for key in ('anyOf', 'oneOf'):
        if key in schema:
            return ' or '.join(_type(one) for one in schema[key])
    if 'const' in schema:
        return f'<code>{escape(json.dumps(schema["const"]))}</code>'
    if 'enum' in schema:
        return ', '.join(f'<code>{escape(str(value))}</code>' for value in schema['enum'])
    if schema.get('type') == 'array':
        return f'list of {_type(schema.get("items", {}))}'
    text = escape(schema.get('type', 'anything'))
    bounds = [
        f'{word} {schema[key]:,}'
        for key, word in (
            ('minimum', 'at least'),
            ('exclusiveMinimum', 'more than'),
            ('maximum', 'at most'),
            ('exclusiveMaximum', 'less than'),
            ('maxLength', 'at most, in characters,'),
        )
        if key in schema
    ]
    if 'pattern' in schema:
        bounds.append(f'like <code>{escape(schema["pattern"])}</code>')
    return ', '.join([text, *bounds])


def _row(*cells: str) -> str:
    return f'<tr>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _text(plain: str) -> str:
    """Return a text with what stands between backticks as code."""
    parts = escape(plain).split('`')
    return ''.join(f'<code>{part}</code>' if k % 2 else part for k, part in enumerate(parts))
