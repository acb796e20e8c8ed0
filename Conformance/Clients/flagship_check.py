"""Drives the vendor's own SDK for Python against `xp mock flagship`.

    python3 flagship_check.py '{"url":"http://127.0.0.1:8080","credentials":{...}}' api|bucketing

The first argument is the first line that the mock prints. Ends with status 0 when everything was as the SDK expects it, and with
status 77 when the SDK isn't installed.
"""

import json
import os
import sys
import tempfile
import time
import urllib.request

try:
    import flagship
    from flagship import constants, http_helper
    from flagship.config import Bucketing, DecisionApi
    from flagship.hits import Event, EventCategory, Item, Page, Screen, Transaction
    from flagship.status import Status
    from flagship.tracking_manager import TrackingManagerConfig
except ImportError as error:
    print(f"the SDK isn't installed: {error}")
    sys.exit(77)

HEAD = json.loads(sys.argv[1])
MODE = sys.argv[2]
URL = HEAD["url"]
CREDENTIALS = HEAD["credentials"]
# The vendor's addresses replaced, wherever a module of the SDK has them, and nothing else.
ADDRESSES = {
    "URL_DECISION_API": URL + "/v2/",
    "URL_ACTIVATE": URL + "/v2/activate",
    "URL_TRACKING": URL + "/",
    "URL_BUCKETING": URL + "/{}/bucketing.json",
}
for module in [module for name, module in sys.modules.items() if name.startswith("flagship")]:
    for name, address in ADDRESSES.items():
        if hasattr(module, name):
            setattr(module, name, address)


def journal():
    with urllib.request.urlopen(URL + "/_mock/requests") as answer:
        return json.load(answer)


def hits():
    """Every hit that the collector was sent, by its type."""
    found = []
    for entry in journal():
        if entry["method"] == "POST" and entry["path"] == "/":
            document = json.loads(entry["body"])
            found += document["h"] if document["t"] == "BATCH" else [document]
    return found


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, found {found!r}")


def wait(holds, what):
    for _ in range(200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError(f"{what}: waited for twenty seconds; {[(e['path'], e.get('status')) for e in journal()]}")


# The SDK keeps the bucketing file where it runs.
os.chdir(tempfile.mkdtemp())
settings = {"timeout": 5000, "tracking_manager_config": TrackingManagerConfig(time_interval=500, timeout=5000)}
config = DecisionApi(**settings) if MODE == "api" else Bucketing(polling_interval=1000, **settings)
flagship.Flagship.start(CREDENTIALS["environmentID"], CREDENTIALS["apiKey"], config)
wait(lambda: flagship.Flagship.status() == Status.READY, "the start")
visitor = flagship.Flagship.new_visitor("ada", context={"plan": "pro"}, consent=True)
wait(lambda: visitor.fetch_flags() or visitor.get_flag("welcome", "none").exists(), "the flags")
expect(visitor.get_flag("welcome", "none").value(), "Hello!", "a flag's value")
expect(visitor.get_flag("items-per-page", 0).value(), 24, "a number")
expect(visitor.get_flag("nobody", "none").value(), "none", "an unknown flag")

visitor.send_hit(Screen("home"))
visitor.send_hit(Page("https://shop.example/"))
visitor.send_hit(Transaction("o-1", "basket"))
visitor.send_hit(Item("o-1", "Teapot", "teapot-7"))
visitor.send_hit(Event(EventCategory.ACTION_TRACKING, "searched"))
visitor.authenticate("member")
visitor.fetch_flags()

wanted = {"EVENT", "ITEM", "PAGEVIEW", "SCREENVIEW", "TRANSACTION"}
wait(lambda: wanted <= {hit["t"] for hit in hits()}, "the hits")
wait(lambda: any(hit.get("ea") == "fs_consent" for hit in hits()), "the consent")
expect({hit["el"] for hit in hits() if hit.get("ea") == "fs_consent"}, {"python:true"}, "the consent")
wait(lambda: any(entry["path"] == "/v2/activate" for entry in journal()), "the exposures")
flagship.Flagship.stop()
# A request that is still being answered has no status.
wait(lambda: all("status" in entry for entry in journal()), "the answers")
refused = [(entry["path"], entry["status"]) for entry in journal() if entry["status"] not in (200, 204, 304)]
expect(refused, [], "what the mock refused")
print(f"decisions, exposures and hits are as the SDK for Python expects them in its mode {MODE}")
