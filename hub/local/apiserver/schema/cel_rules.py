"""``x-kubernetes-validations``: rules compiled once per CRD, evaluated with the real server's messages.

A rule sees ``self`` and, in a transition rule, ``oldSelf``. Only the parts of the object that the rules of a place
name are handed to CEL: converting a whole Workload costs more than all its rules.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from hub.local.apiserver.cel_engine import cel
from hub.local.apiserver.schema import field_errors, structural_validation
from hub.local.apiserver.schema.field_errors import OMITTED, FieldError
from hub.local.apiserver.schema.node import MISSING, Node
from worker_agent.api import cel_functions

TEXTS: Final = re.compile(r"""r?"(?:[^"\\]|\\.)*"|r?'(?:[^'\\]|\\.)*'""")
CHAINS: Final = re.compile(r"(?<![\w.])(self|oldSelf)\b((?:\s*\.\s*[A-Za-z_]\w*)*)(\s*\()?")
DURATION_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
HAS: Final = re.compile(r"\bhas\(\s*\Z")
PRESENCE: Final = ""
Tree = dict[str, Any]
"""Names to sub-trees; an empty tree stands for the whole value, one of only PRESENCE for a value that is there."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``message`` is what the user reads when it fails and there is no message expression.

    ``reads`` and ``reads_old`` say which parts of ``self`` and ``oldSelf`` it names; None stands for all of it.
    """

    source: str
    program: Any
    uses_old: bool
    optional_old: bool
    same: bool
    message: str
    name: str
    message_program: Any
    reason: str
    field_path: str
    reads: Tree | None
    reads_old: Tree | None


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of one place. ``trusted`` says that what is stored has passed them: a rule whose inputs did not
    change is not asked again."""

    rules: tuple[Rule, ...]
    functions: Mapping[str, Any]
    convert: bool
    escaped: bool
    trusted: bool


def attach(node: Node, path: str = "", *, trusted: bool = True) -> None:
    """Compile every rule below a root node and hang it on its place. Raises ValueError naming the place and rule.

    ``trusted`` is False where objects may be stored that these rules never saw.
    """
    if not node.deep_rules:
        return
    declared = node.raw.get("x-kubernetes-validations")
    if declared:
        try:
            node.rules = [_rule_set(declared, node, trusted)]
        except ValueError as problem:
            raise ValueError(f"{path or 'root'}: x-kubernetes-validations: {problem}") from problem
    for name, child in node.fields.items():
        attach(child, f"{path}.{name}" if path else name, trusted=trusted)
    if node.element is not None:
        attach(node.element, f"{path}[*]", trusted=trusted)


def _rule_set(declared: list[dict[str, Any]], node: Node, trusted: bool) -> RuleSet:
    rules = tuple(_rule(item) for item in declared)
    programs = [program for rule in rules for program in (rule.program, rule.message_program) if program is not None]
    texts = [text for item in declared for text in (item["rule"], item.get("messageExpression", ""))]
    wanted = {name for program in programs for name in program.functions()}
    bare = [TEXTS.sub("''", text) for text in texts]
    return RuleSet(
        rules=rules,
        functions={name: cel_functions.FUNCTIONS[name] for name in wanted if name in cel_functions.FUNCTIONS},
        convert=any(re.search(rf"\b{name}\b", text) for name in _typed_names(node, set()) for text in bare),
        escaped=any("__" in text for text in bare),
        trusted=trusted,
    )


def _rule(item: Mapping[str, Any]) -> Rule:
    source = item["rule"].strip()
    expression = item.get("messageExpression", "")
    message = item.get("message", "").strip()
    bare = [TEXTS.sub("''", text) for text in (source, expression)]
    return Rule(
        source=source,
        program=cel.compile(cel_functions.without_namespaces(source)),
        uses_old=re.search(r"(?<![\w.])oldSelf\b", bare[0]) is not None,
        optional_old=item.get("optionalOldSelf") is True,
        same=re.sub(r"\s", "", source) in {"self==oldSelf", "oldSelf==self"},
        message=message or f"failed rule: {source}",
        name=message or source,
        message_program=cel.compile(cel_functions.without_namespaces(expression)) if expression else None,
        reason=item.get("reason", ""),
        field_path=item.get("fieldPath", "").removeprefix("."),
        reads=_reads("self", bare),
        reads_old=_reads("oldSelf", bare),
    )


def _reads(variable: str, texts: list[str]) -> Tree | None:
    """Which parts of a variable the texts name; None when some text uses it whole.

    A part only asked for by ``has()`` need not be handed over whole: its presence is enough.
    """
    tree: Tree = {}
    asked: list[list[str]] = []
    for text in texts:
        for match in CHAINS.finditer(text):
            if match[1] != variable:
                continue
            parts = [part.strip() for part in match[2].split(".") if part.strip()]
            if match[3] and parts:
                parts.pop()
            if not parts:
                return None
            if HAS.search(text, 0, match.start()) and text[match.end() : match.end() + 1] == ")":
                asked.append(parts)
            else:
                _grow(tree, parts, {})
    for parts in asked:
        _grow(tree, parts, {PRESENCE: {}})
    return tree


def _grow(tree: Tree, parts: list[str], leaf: Tree) -> None:
    here = tree
    for index, part in enumerate(parts):
        if part in here and not here[part]:
            return
        if index == len(parts) - 1:
            if leaf:
                here.setdefault(part, leaf)
            else:
                here[part] = leaf
        else:
            here = here.setdefault(part, {PRESENCE: {}})


def _united(trees: Iterable[Tree | None]) -> Tree | None:
    result: Tree = {}
    for tree in trees:
        if tree is None:
            return None
        result = _both(result, tree)
    return result


def _both(left: Tree, right: Tree) -> Tree:
    merged = dict(left)
    for name, below in right.items():
        mine = merged.get(name)
        merged[name] = below if mine is None else ({} if not mine or not below else _both(mine, below))
    return merged


def _typed_names(node: Node, seen: set[int]) -> Iterator[str]:
    """Names of fields whose JSON value is another type in CEL: timestamps, durations and numbers."""
    if id(node) in seen:
        return
    seen.add(id(node))
    for name, child in node.fields.items():
        if child.type == "number" or child.raw.get("format") in {"date-time", "datetime", "duration", "byte"}:
            yield name
        yield from _typed_names(child, seen)
    if node.element is not None:
        yield from _typed_names(node.element, seen)


def errors(new: Any, old: Any, node: Node, path: str = "", unchanged: bool = False) -> Iterator[FieldError]:
    """What the rules at and below this place say against ``new``.

    ``old`` is MISSING where there is nothing to compare with: transition rules are skipped there. ``unchanged`` says
    that this place cannot be compared but lies in one that did not change. Rules without ``oldSelf`` do not complain
    about what did not change.
    """
    if new is None or not node.deep_rules:
        return
    if old is not MISSING:
        unchanged = new == old
    if node.rules:
        yield from _place_errors(new, old, node, path, unchanged)
    if isinstance(new, dict):
        before = old if isinstance(old, dict) else {}
        for key, value in new.items():
            child = node.fields.get(key)
            below = f"{path}.{key}" if path else key
            if child is None:
                child, below = node.element, f"{path}[{key}]"
            if child is not None and child.deep_rules:
                yield from errors(value, before.get(key, MISSING), child, below, unchanged)
    elif isinstance(new, list) and node.element is not None and node.element.deep_rules:
        correlate = structural_validation.correlation(node.raw, old)
        for index, item in enumerate(new):
            yield from errors(item, correlate(item), node.element, f"{path}[{index}]", unchanged)


def _place_errors(new: Any, old: Any, node: Node, path: str, unchanged: bool) -> Iterator[FieldError]:
    rules: RuleSet = node.rules[0]
    due = [rule for rule in rules.rules if _is_due(rule, rules, new, old, unchanged)]
    value = OMITTED if isinstance(new, (dict, list)) else new
    known: Any = None
    for rule in due:
        if rule.same:
            if not same(new, old, node):
                yield _error(rule, path, value, rule.message)
        elif rule.optional_old:
            optional = _context(rules, [rule], new, MISSING, node)
            optional.add_variable("oldSelf", _optional(rules, old, node))
            yield from _evaluated(rule, optional, path, value, node)
        else:
            known = known or _context(rules, due, new, old, node)
            yield from _evaluated(rule, known, path, value, node)


def _is_due(rule: Rule, rules: RuleSet, new: Any, old: Any, unchanged: bool) -> bool:
    if rule.uses_old:
        return old is not MISSING or rule.optional_old
    if unchanged:
        return False
    if old is MISSING or not rules.trusted or rule.reads is None:
        return True
    return bool(_projected(new, rule.reads) != _projected(old, rule.reads))


def _evaluated(rule: Rule, context: Any, path: str, value: Any, node: Node) -> Iterator[FieldError]:
    try:
        result = rule.program.execute(context)
    except Exception as problem:
        yield field_errors.invalid(path or "<nil>", node.type, _failure(problem, rule))
        return
    if result is not True:
        yield _error(rule, path, value, _message(rule, context))


def _failure(problem: Exception, rule: Rule) -> str:
    text = str(problem)
    if isinstance(problem, KeyError):
        return f"no such key: {problem.args[0]} evaluating rule: {rule.name}"
    if isinstance(problem, TypeError):
        words = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'no such overload': {words}: {rule.name}"
    if isinstance(problem, ZeroDivisionError):
        text = "division by zero"
    if isinstance(problem, OverflowError):
        text = "integer overflow"
    return f"{text} evaluating rule: {rule.name}"


def _message(rule: Rule, context: Any) -> str:
    if rule.message_program is None:
        return rule.message
    try:
        text = rule.message_program.execute(context)
    except Exception:  # the server too falls back on the plain message, whatever went wrong in the expression
        return rule.message
    text = text.strip() if isinstance(text, str) else ""
    return text if text and "\n" not in text and len(text) <= 5120 else rule.message


def _error(rule: Rule, path: str, value: Any, detail: str) -> FieldError:
    place = ".".join(part for part in (path, rule.field_path) if part) or "<nil>"
    if rule.reason == field_errors.DUPLICATE:
        return field_errors.duplicate(place, value)
    kind = rule.reason if rule.reason in {field_errors.FORBIDDEN, field_errors.REQUIRED} else field_errors.INVALID
    return FieldError(kind, place, detail, value)


def _context(rules: RuleSet, due: list[Rule], new: Any, old: Any, node: Node) -> Any:
    variables = {"self": _seen(rules, _united(rule.reads for rule in due), new, node)}
    if old is not MISSING:
        variables["oldSelf"] = _seen(rules, _united(rule.reads_old for rule in due), old, node)
    context = cel.Context(variables=variables)
    for name, function in rules.functions.items():
        context.add_function(name, function)
    return context


def _optional(rules: RuleSet, old: Any, node: Node) -> Any:
    if old is MISSING:
        return cel.OptionalValue.none()
    return cel.OptionalValue.of(_seen(rules, None, old, node))


def _seen(rules: RuleSet, tree: Tree | None, value: Any, node: Node) -> Any:
    if rules.convert or rules.escaped:
        return converted(value, node, rules.escaped)
    return value if tree is None else _projected(value, tree)


def _projected(value: Any, tree: Tree) -> Any:
    if not tree or not isinstance(value, dict):
        return value
    if len(tree) == 1 and PRESENCE in tree:
        return True
    return {key: _projected(value[key], below) for key, below in tree.items() if key in value}


def converted(value: Any, node: Node, escaped: bool) -> Any:
    """A JSON value as CEL types it: timestamps, durations and numbers by schema; field names escaped if asked."""
    if isinstance(value, dict):
        result = {}
        for key, item in value.items():
            child = node.child(key)
            name = escape(key) if escaped and key in node.fields else key
            result[name] = converted(item, child, escaped) if child is not None else item
        return result
    if isinstance(value, list):
        return [converted(item, node.element, escaped) for item in value] if node.element is not None else value
    return _converted_scalar(value, node)


def _converted_scalar(value: Any, node: Node) -> Any:
    if node.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return value
    shape = node.raw.get("format")
    try:
        if shape in {"date-time", "datetime"}:
            return datetime.fromisoformat(value)
        if shape == "duration":
            return _duration(value)
    except ValueError:
        return value
    return value


def _duration(text: str) -> timedelta:
    parts = re.findall(r"([0-9.]+)(h|ms|us|µs|ns|m|s)", text)
    seconds = sum(float(number) * DURATION_UNITS[unit] for number, unit in parts)
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


RESERVED: Final = frozenset(
    ["true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
     "let", "loop", "package", "namespace", "return", "var", "void", "while"]
)  # fmt: skip


def escape(name: str) -> str:
    """A field name as CEL expressions write it: ``__namespace__``, ``a__dot__b``, ``a__dash__b``."""
    if name in RESERVED:
        return f"__{name}__"
    text = name.replace("__", "__underscores__").replace(".", "__dot__")
    return text.replace("-", "__dash__").replace("/", "__slash__")


def same(new: Any, old: Any, node: Node | None) -> bool:
    """Equality as CEL sees it in Kubernetes: the order of items in lists of type set and map does not count."""
    if node is not None and isinstance(new, list) and isinstance(old, list) and node.associative:
        if len(new) != len(old):
            return False
        if node.list_keys:
            correlate = structural_validation.correlation(node.raw, old)
            return all(same(item, correlate(item), node.element) for item in new)
        return all(item in old for item in new)
    if isinstance(new, dict) and isinstance(old, dict):
        if new.keys() != old.keys():
            return False
        return all(same(item, old[key], node.child(key) if node else None) for key, item in new.items())
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        element = node.element if node else None
        return all(same(item, before, element) for item, before in zip(new, old, strict=True))
    return bool(new == old)
