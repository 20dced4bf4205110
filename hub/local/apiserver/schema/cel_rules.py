"""``x-kubernetes-validations``: rules compiled once per CRD, evaluated with the real server's messages.

A rule sees ``self`` and, in a transition rule, ``oldSelf``. Only the parts of the object that the rules of a place
name are handed to CEL: converting a whole Workload costs more than all its rules.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from hub.local.apiserver.cel_engine import cel
from hub.local.apiserver.schema import cel_reads, cel_values, field_errors, structural_validation
from hub.local.apiserver.schema.field_errors import OMITTED, FieldError
from hub.local.apiserver.schema.node import MISSING, Node
from worker_agent.api import cel_functions

TEXTS: Final = re.compile(r"""r?"(?:[^"\\]|\\.)*"|r?'(?:[^'\\]|\\.)*'""")
LONGEST_REMEMBERED: Final = 1024
MOST_REMEMBERED: Final = 4096
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, eq=False)
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
    reads: cel_reads.Tree | None
    reads_old: cel_reads.Tree | None


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of one place. ``trusted`` says that what is stored has passed them: a rule whose inputs did not
    change is not asked again. ``passed`` remembers inputs without a fault, ``trees`` what each choice of rules reads.
    """

    rules: tuple[Rule, ...]
    functions: Mapping[str, Any]
    convert: bool
    escaped: bool
    trusted: bool
    passed: set[bytes] = field(default_factory=set)
    trees: dict[tuple[Rule, ...], tuple[cel_reads.Tree | None, cel_reads.Tree | None]] = field(default_factory=dict)


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
    own = node.rules[0].rules if node.rules else ()
    below = [*node.fields.values(), *([node.element] if node.element is not None else [])]
    node.deep_transitions = any(rule.uses_old for rule in own) or any(child.deep_transitions for child in below)


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
        reads=cel_reads.reads("self", bare),
        reads_old=cel_reads.reads("oldSelf", bare),
    )


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
    if unchanged and not node.deep_transitions:
        return
    if node.rules:
        yield from _place_errors(new, old, node, path, unchanged)
    if isinstance(new, dict):
        yield from _map_errors(new, old if isinstance(old, dict) else {}, node, path, unchanged)
    elif isinstance(new, list) and node.element is not None and node.element.deep_rules:
        correlate = structural_validation.correlation(node.raw, old)
        for index, item in enumerate(new):
            yield from errors(item, correlate(item), node.element, f"{path}[{index}]", unchanged)


def _map_errors(
    new: dict[str, Any], old: dict[str, Any], node: Node, path: str, unchanged: bool
) -> Iterator[FieldError]:
    for key, value in new.items():
        child = node.fields.get(key)
        below = f"{path}.{key}" if path else key
        if child is None:
            child, below = node.element, f"{path}[{key}]"
        if child is not None and child.deep_rules:
            yield from errors(value, old.get(key, MISSING), child, below, unchanged)


def _place_errors(new: Any, old: Any, node: Node, path: str, unchanged: bool) -> Iterator[FieldError]:
    rules: RuleSet = node.rules[0]
    due = tuple(rule for rule in rules.rules if _is_due(rule, rules, new, old, unchanged))
    if not due:
        return
    value = OMITTED if isinstance(new, (dict, list)) else new
    variables = _variables(rules, due, new, old, node)
    asked = _Asked.of(rules, due, variables)
    for rule in due:
        if rule.same:
            if not cel_values.same(new, old, node):
                yield _error(rule, path, value, rule.message)
        elif rule.optional_old:
            optional = _context(rules, _variables(rules, (rule,), new, MISSING, node))
            optional.add_variable("oldSelf", _optional(rules, old, node))
            yield from _evaluated(rule, optional, path, value, node)
        elif not asked.passed:
            yield from asked.noting(_evaluated(rule, asked.context(), path, value, node))
    asked.settle()


class _Asked:
    """The rules of a place asked about one set of values. What they passed is remembered: a rule is a pure function,
    and most objects of a kind look the same to it."""

    __slots__ = ("_context", "_faults", "_key", "_rules", "_variables", "passed")

    def __init__(self, rules: RuleSet, key: bytes, variables: dict[str, Any]) -> None:
        self._rules = rules
        self._key = key
        self._variables = variables
        self._context: Any = None
        self._faults = False
        self.passed = bool(key) and key in rules.passed

    @classmethod
    def of(cls, rules: RuleSet, due: tuple[Rule, ...], variables: dict[str, Any]) -> "_Asked":
        try:
            key = _encode(([id(rule) for rule in due], variables))
        except (TypeError, ValueError, OverflowError):  # a value that JSON has no form for
            key = b""
        return cls(rules, key if len(key) <= LONGEST_REMEMBERED else b"", variables)

    def context(self) -> Any:
        if self._context is None:
            self._context = _context(self._rules, self._variables)
        return self._context

    def noting(self, faults: Iterator[FieldError]) -> Iterator[FieldError]:
        for fault in faults:
            self._faults = True
            yield fault

    def settle(self) -> None:
        """Remember that there was no fault."""
        if not self._key or self._faults or self.passed:
            return
        if len(self._rules.passed) >= MOST_REMEMBERED:
            self._rules.passed.clear()
        self._rules.passed.add(self._key)


def _is_due(rule: Rule, rules: RuleSet, new: Any, old: Any, unchanged: bool) -> bool:
    if rule.uses_old:
        return old is not MISSING or rule.optional_old
    if unchanged:
        return False
    if old is MISSING or not rules.trusted or rule.reads is None:
        return True
    return cel_reads.differ(new, old, rule.reads)


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


def _variables(rules: RuleSet, due: tuple[Rule, ...], new: Any, old: Any, node: Node) -> dict[str, Any]:
    """What the rules see: no more than they name."""
    trees = rules.trees.get(due)
    if trees is None:
        trees = rules.trees[due] = (
            cel_reads.united(rule.reads for rule in due),
            cel_reads.united(rule.reads_old for rule in due),
        )
    variables = {"self": _seen(rules, trees[0], new, node)}
    if old is not MISSING:
        variables["oldSelf"] = _seen(rules, trees[1], old, node)
    return variables


def _context(rules: RuleSet, variables: dict[str, Any]) -> Any:
    context = cel.Context(variables=variables)
    for name, function in rules.functions.items():
        context.add_function(name, function)
    return context


def _optional(rules: RuleSet, old: Any, node: Node) -> Any:
    if old is MISSING:
        return cel.OptionalValue.none()
    return cel.OptionalValue.of(_seen(rules, None, old, node))


def _seen(rules: RuleSet, tree: cel_reads.Tree | None, value: Any, node: Node) -> Any:
    if rules.convert or rules.escaped:
        return cel_values.converted(value, node, rules.escaped)
    return value if tree is None else cel_reads.projected(value, tree)
