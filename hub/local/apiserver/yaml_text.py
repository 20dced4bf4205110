"""Answers as YAML, as the real server writes them: sorted keys, double quotes where quotes are needed, no folding.

Source of the form: sigs.k8s.io/yaml over go-yaml.
"""

from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """go-yaml's choices of style."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if "\n" in value:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    tag = dumper.resolve(yaml.ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]
    plain = tag == "tag:yaml.org,2002:str" and value not in _WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_WORDS = frozenset({"y", "Y", "n", "N", ""})
"""Words that YAML 1.1 reads as something else and PyYAML does not."""

_Dumper.add_representer(str, _text)


def dumped(document: Any) -> bytes:
    text = yaml.dump(
        document, Dumper=_Dumper, sort_keys=True, default_flow_style=False, width=2**31, allow_unicode=True
    )
    return str(text).encode()
