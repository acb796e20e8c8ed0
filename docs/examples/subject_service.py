#!/usr/bin/env python3
"""An adapter in another language as a subject of the conformance suite.

Commands come in as JSON objects by POST, results go out as JSON objects. This example plays a small vendor and its
adapter in one process; a real one would put its adapter where `Provider` stands and its vendor's stand-in where
`Stage` stands. It needs nothing but Python's standard library.

    python3 subject_service.py            # prints {"url": "http://127.0.0.1:PORT/"} and serves until its input ends
"""
import itertools
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EVENTS = [
    "custom", "screenView", "pageView", "goalCompleted", "viewItem", "viewItemDetail", "addToCart",
    "removeFromCart", "replaceCart", "purchase", "exposure", "campaignImpression", "campaignDismissal",
    "campaignClick", "consentChanged",
]


class Failure(Exception):
    """An error with one of the framework's codes."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.message = code, message


def matches(condition, attributes):
    actual, wanted = attributes.get(condition["attribute"]), condition["value"]
    comparison = condition.get("comparison", "equals")
    if actual is None:
        return False
    if comparison == "equals":
        return actual in wanted if isinstance(wanted, list) else same(actual, wanted)
    if comparison == "notEquals":
        return not same(actual, wanted)
    if comparison == "contains":
        return isinstance(actual, str) and isinstance(wanted, str) and wanted in actual
    if is_number(actual) and is_number(wanted) or isinstance(actual, str) and isinstance(wanted, str):
        return actual < wanted if comparison == "lessThan" else comparison == "greaterThan" and actual > wanted
    return False


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(one, other):
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def bucket(experiment, user):
    value = 0xCBF29CE484222325
    for byte in f"{experiment}:{user}".encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    value = ((value ^ (value >> 33)) * 0xFF51AFD7ED558CCD) & 0xFFFFFFFFFFFFFFFF
    return (value >> 11) % 100


class Stage:
    """The vendor's stand-in with one world."""

    def __init__(self, world):
        self.lock = threading.Lock()
        self.world, self.faults, self.received, self.exchanges = world, [], [], []
        self.reachable, self.disabled = True, world.get("killSwitch", False)

    def pass_through(self, purpose, text=""):
        """Notes an exchange, plays its fault, and says whether its answer gets lost afterwards."""
        with self.lock:
            if not self.reachable:
                raise Failure("TRANSPORT", "The vendor can't be reached.")
            exchange = {"number": len(self.exchanges) + 1, "purpose": purpose, "operation": purpose,
                        "method": "CALL", "path": "/" + purpose, "status": 200}
            self.exchanges.append(exchange)
            fault = self.take_fault(purpose, text)
        if fault is None:
            return None
        exchange["fault"] = kind = fault["fault"]
        if kind == "delay":
            time.sleep(fault["milliseconds"] / 1000)
        elif kind == "stall":
            time.sleep(1.5)
            raise Failure("TIMEOUT", "The vendor did not answer.")
        elif kind == "status":
            exchange["status"] = fault["status"]
            raise StatusFailure(fault["status"], fault.get("retryAfter"))
        elif kind in ("resetAfterApplying", "truncate", "wrongLength"):
            return Failure("TRANSPORT", "The answer is incomplete.")
        else:
            raise Failure("TRANSPORT" if kind in ("reset", "redirect") else "PARSE_ERROR", "There is no good answer.")
        return None

    def take_fault(self, purpose, text):
        for fault in self.faults:
            wanted = fault.get("operation", "any")
            if wanted not in ("any", purpose) and not (wanted == "exposures" and purpose == "events"):
                continue
            if fault.get("containing", "") not in text:
                continue
            if fault.get("after", 0) > 0:
                fault["after"] -= 1
                continue
            if fault.get("times", 1) != "forever":
                fault["times"] = fault.get("times", 1) - 1
                if fault["times"] <= 0:
                    self.faults.remove(fault)
            return fault
        return None

    # What the provider asks for

    def decide(self, user):
        lost = self.pass_through("decisions")
        if lost:
            raise lost
        if self.disabled:
            return {"disabled": True}
        places, flags = [], []
        attributes = user.get("attributes", {})
        for experiment in self.world.get("experiments", []):
            variation, origin = self.place(experiment, user["id"], attributes)
            if variation:
                places.append({
                    "experiment": experiment["id"], "experimentName": experiment.get("name", experiment["id"]),
                    "variation": variation["id"], "variationName": variation.get("name", variation["id"]),
                    "isControl": variation.get("control", False), "origin": origin,
                })
        for flag in self.world.get("flags", []):
            flags.append(self.resolve(flag, places, attributes))
        return {"flags": flags, "assignments": places}

    def place(self, experiment, user, attributes):
        variations = experiment["variations"]
        if not experiment.get("running", True):
            return None, None
        forced = experiment.get("forced", {}).get(user)
        if forced:
            return next(v for v in variations if v["id"] == forced), "forcedByVendor"
        if not all(matches(condition, attributes) for condition in experiment.get("targeting", [])):
            return None, None
        rest = bucket(experiment["id"], user)
        for variation in variations:
            if rest < variation["weight"]:
                return variation, "allocated"
            rest -= variation["weight"]
        return None, None

    def resolve(self, flag, places, attributes):
        if flag.get("malformed"):
            return {"key": flag["key"], "value": None, "reason": "ERROR", "error": "PARSE_ERROR",
                    "errorMessage": "The flag's record can't be read."}
        if flag.get("disabled"):
            return {"key": flag["key"], "value": None, "reason": "DISABLED"}
        for rule in flag.get("rules", []):
            if all(matches(condition, attributes) for condition in rule["when"]):
                return {"key": flag["key"], "value": rule["value"], "reason": "TARGETING_MATCH", "variant": "rule"}
        for index, place in enumerate(places):
            if place["experiment"] == flag.get("experiment") and place["variation"] in flag.get("variations", {}):
                return {"key": flag["key"], "value": flag["variations"][place["variation"]], "reason": "SPLIT",
                        "variant": place["variation"], "assignment": index,
                        "metadata": {"experiment": flag["experiment"]}}
        return {"key": flag["key"], "value": flag["value"], "reason": "STATIC", "variant": "default"}

    def deliver(self, events):
        lost = self.pass_through("events", json.dumps(events))
        if self.disabled:
            return {"verdicts": {}, "disabled": True}
        verdicts, campaigns = {}, []
        with self.lock:
            for event in events:
                told = neutral(event, len(self.exchanges))
                self.received.append(told)
                verdicts[event["id"]] = {"verdict": "delivered"}
                campaigns += self.answers(event, told)
        if lost:
            raise lost
        return {"verdicts": verdicts, "campaigns": campaigns}

    def answers(self, envelope, told):
        """The campaigns that an event brings."""
        return [
            {"event": envelope["id"], "id": campaign["id"], "name": campaign.get("name", campaign["id"]),
             "target": campaign["target"], "experience": campaign["experience"], "content": campaign.get("content", {}),
             "promotedItems": {"product": campaign.get("promotedItems", [])},
             "isControlGroup": envelope["user"]["id"] in campaign.get("controlGroup", [])}
            for campaign in self.world.get("campaigns", [])
            if campaign["trigger"] == told["type"] and campaign.get("triggerName") in (None, told.get("name"))
        ]


class StatusFailure(Failure):
    """What a status means for decisions (an error) and for events (a verdict)."""

    def __init__(self, status, retry_after):
        super().__init__("UNAUTHORIZED" if status in (401, 403) else "VENDOR_FAULT", f"status {status}")
        self.status, self.retry_after = status, retry_after

    def verdict(self):
        if self.status in (401, 403):
            return {"verdict": "stop", "reason": self.message}
        if self.status == 413:
            return {"verdict": "split", "reason": self.message}
        if self.status in (408, 425, 429) or self.status >= 500 or self.status < 400:
            return {"verdict": "outage"} | ({"after": self.retry_after} if self.retry_after else {})
        return {"verdict": "failed", "reason": self.message}


def neutral(envelope, exchange):
    """Tells in neutral words what arrived."""
    event, user = envelope["event"], envelope["user"]
    told = {"type": event["type"], "userID": user["id"], "eventID": envelope["id"], "date": envelope["at"],
            "attributes": event.get("attributes", {}), "exchange": exchange}
    if "anonymousId" in user:
        told["anonymousID"] = user["anonymousId"]
    for key in ("name", "value"):
        if key in event:
            told[key] = event[key]
    if "url" in event:
        told["name"] = event["url"]
    if "item" in event:
        told["items"] = [event["item"]["id"]]
    if "line" in event:
        told["items"] = [event["line"]["item"]["id"]]
    if "lines" in event:
        told["items"] = [line["item"]["id"] for line in event["lines"]]
    if "order" in event:
        told["items"] = [line["item"]["id"] for line in event["order"]["lines"]]
        told["orderID"], told["value"] = event["order"].get("id"), event["order"].get("total")
    if "exposure" in event:
        assignment = event["exposure"]["assignment"]
        told["experiment"], told["variation"] = assignment["experiment"]["id"], assignment["variation"]["id"]
    if "campaign" in event:
        told["campaign"] = event["campaign"]["id"]
    if "granted" in event:
        told["isGranted"] = event["granted"]
    return {key: value for key, value in told.items() if value is not None}


class Service:
    """The commands."""

    def __init__(self):
        self.stages, self.ids = {}, itertools.count(1)

    def describe(self, _):
        return {
            "name": "python-example", "protocol": 2, "version": "1.0.0",
            "evidence": {"flags": "documented", "campaigns": "inferred"},
            "capabilities": ["flags", "object-flags", "flag-metadata", "targeting", "offline-start", "experiments",
                             "control-groups", "exposures", "tracking", "commerce", "batching", "event-ids",
                             "campaigns", "consent-signal", "kill-switch"],
            "reasons": {"holdouts": "the example has no holdouts", "overrides": "the example's vendor decides"},
            "wireFields": ["userID", "anonymousID", "name", "value", "attributes", "experiment", "orderID", "items",
                           "eventID", "date"],
            "events": EVENTS, "decides": True, "links": False, "needsConsent": True, "campaignLimit": 5,
        }

    def open(self, command):
        stage = f"stage-{next(self.ids)}"
        self.stages[stage] = Stage(command["world"])
        return {"stage": stage, "gaps": [], "secrets": []}

    def start(self, command):
        return {"provider": f"provider-{next(self.ids)}"}

    def decisions(self, command):
        return self.stage(command).decide(command["user"])

    def deliver(self, command):
        events = command["events"]
        try:
            return self.stage(command).deliver(events)
        except StatusFailure as failure:
            return {"verdicts": {event["id"]: failure.verdict() for event in events}}
        except Failure:
            return {"verdicts": {event["id"]: {"verdict": "outage"} for event in events}}

    def change(self, command):
        self.stage(command).world = command["world"]
        return {}

    def inject(self, command):
        self.stage(command).faults += command["faults"]
        return {}

    def clearFaults(self, command):
        self.stage(command).faults = []
        return {}

    def setKillSwitch(self, command):
        self.stage(command).disabled = command["on"]
        return {}

    def setReachable(self, command):
        self.stage(command).reachable = command["reachable"]
        return {}

    def received(self, command):
        return {"received": self.stage(command).received}

    def exchanges(self, command):
        return {"exchanges": self.stage(command).exchanges}

    def close(self, command):
        self.stages.pop(command["stage"], None)
        return {}

    def stage(self, command):
        return self.stages[command["stage"]]


SERVICE = Service()
COMMANDS = {"describe", "open", "start", "decisions", "deliver", "change", "inject", "clearFaults", "setKillSwitch",
            "setReachable", "received", "exchanges", "close"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            command = json.loads(body)
            name = command.get("command")
            if name in COMMANDS:
                answer = {"result": getattr(SERVICE, name.replace(".", "_"))(command)}
            else:
                answer = {"unsupported": f"the example knows no command {name}"}
        except Failure as failure:
            answer = {"error": {"code": failure.code, "message": failure.message}}
        except Exception as error:  # A mistake of the service's own is told too, and ends no other case.
            answer = {"error": {"code": "GENERAL", "message": f"{type(error).__name__}: {error}"}}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def serve():
    server = Server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
    # Whoever started it holds its input; when they are gone, so is it.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}/"}), flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    serve()
