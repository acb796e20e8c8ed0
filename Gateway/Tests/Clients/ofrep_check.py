"""Asks a gateway for flags by OpenFeature's Python client, and prints what it answered as JSON.

Usage: ofrep_check.py URL TOKEN, with lines of `type key` on standard input.
"""

import json
import sys

from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext

DEFAULTS = {"boolean": False, "string": "default", "integer": -1, "float": -1.5, "object": {"default": True}}


def main() -> None:
    url, token = sys.argv[1:]
    provider = OFREPProvider(url, headers_factory=lambda: {"Authorization": f"Bearer {token}"})
    api.set_provider(provider)
    client = api.get_client()
    context = EvaluationContext(targeting_key="ada", attributes={"plan": "free"})
    answers = {}
    for line in sys.stdin:
        kind, key = line.rstrip("\n").split(" ", 1)
        ask = getattr(client, f"get_{kind}_details")
        details = ask(key, DEFAULTS[kind], None if key == "nobody" else context)
        answers[f"{kind} {key}"] = [
            repr(details.value),
            getattr(details.reason, "value", details.reason),
            details.variant,
            getattr(details.error_code, "value", details.error_code),
        ]
    print(json.dumps(answers))


main()
