#!/usr/bin/env python3
"""A whole SDK in another language as a subject of the conformance suite: it has a cache and an outbox of its own.

The vendor's stand-in and the line are those of subject_service.py; what is here is the SDK. A real one would be started
in place of `SDK`, with its files where `Device` stands.

    python3 sdk_service.py            # prints {"url": "http://127.0.0.1:PORT/"} and serves until its input ends
"""
import subject_service as base


class Device:
    """What a device keeps over a restart."""

    def __init__(self):
        self.decisions = {}
        self.queue = []
        self.ledger = {"accepted": 0, "delivered": 0, "purged": 0, "dropped": {}}


class SDK:
    """The SDK, from its start to its end; what must outlive it is the device's."""

    BATCH = 20

    def __init__(self, stage, device, user, ids):
        self.stage, self.device, self.user, self.ids = stage, device, user, ids
        self.denied, self.disabled, self.old, self.exposed = False, False, False, set()
        self.decided = device.decisions.get(user["id"])

    # Decisions

    def refresh(self):
        try:
            answer = self.stage.decide(self.user)
        except base.Failure:
            self.old = True
            raise
        self.disabled = answer.get("disabled", False)
        if not self.disabled:
            self.decided, self.old = answer, False
            self.device.decisions[self.user["id"]] = answer

    def read(self, key, kind, default, now):
        def error(code):
            return {"value": default, "reason": "ERROR", "error": code}

        if self.disabled:
            return {"value": default, "reason": "DISABLED"}
        if self.decided is None:
            return error("PROVIDER_NOT_READY")
        flag = next((flag for flag in self.decided["flags"] if flag["key"] == key), None)
        if flag is None:
            return error("FLAG_NOT_FOUND")
        if flag.get("error"):
            return error(flag["error"])
        if flag["value"] is None:
            return {"value": default, "reason": flag["reason"]}
        if not self.fits(flag["value"], kind):
            return error("TYPE_MISMATCH")
        self.expose(flag, now)
        return {"value": flag["value"], "reason": "STALE" if self.old else flag["reason"]}

    @staticmethod
    def fits(value, kind):
        if kind in ("int", "double"):
            return base.is_number(value) and (kind == "double" or value == int(value))
        return type(value) is {"bool": bool, "string": str, "object": dict, "array": list}[kind]

    def expose(self, flag, now):
        if flag.get("assignment") is None:
            return
        place = self.decided["assignments"][flag["assignment"]]
        seen = (place["experiment"], place["variation"])
        if seen in self.exposed:
            return
        self.exposed.add(seen)
        assignment = {"experiment": {"id": seen[0]}, "variation": {"id": seen[1]}}
        self.accept({"type": "exposure", "exposure": {"assignment": assignment}}, now)

    def places(self):
        return [] if self.decided is None else self.decided["assignments"]

    # Events

    def track(self, event, now):
        if self.denied:
            raise base.Failure("CONSENT_DENIED", "the user has denied consent")
        self.accept(event, now)

    def accept(self, event, now):
        if self.denied:
            return
        self.device.queue.append({"id": self.new_id(), "user": self.user, "event": event, "at": now})
        self.device.ledger["accepted"] += 1

    def new_id(self):
        return f"event-{next(self.ids)}"

    def consent(self, consent):
        self.denied = consent == "denied"
        if self.denied:
            self.device.ledger["purged"] += len(self.device.queue)
            self.device.queue.clear()

    def flush(self):
        queue = self.device.queue
        while queue:
            batch = queue[:self.BATCH]
            try:
                verdicts = self.stage.deliver(batch)["verdicts"]
            except base.Failure:
                return False
            done = [event for event in batch if verdicts.get(event["id"], {}).get("verdict") == "delivered"]
            if not done:
                return False
            self.device.ledger["delivered"] += len(done)
            queue[:] = [event for event in queue if event not in done]
        return True

    def ledger(self):
        return self.device.ledger | {"pending": len(self.device.queue)}

    # The end

    def stop(self):
        pass

    def kill(self):
        pass


class SDKService(base.Service):
    """The commands for a whole SDK, beside those for the stand-in."""

    sdk_type = SDK

    def __init__(self):
        super().__init__()
        self.devices, self.running = {}, {}

    def describe(self, _):
        return {
            "name": "python-sdk", "protocol": 3, "sdk": True, "version": "1.0.0",
            "capabilities": ["flags", "object-flags", "targeting", "offline-start", "experiments", "control-groups",
                             "exposures", "tracking", "batching", "event-ids", "kill-switch"],
            "wireFields": ["userID", "anonymousID", "name", "value", "attributes", "experiment", "orderID", "items",
                           "eventID", "date"],
            "events": base.EVENTS, "decides": True,
        }

    def sdk_start(self, command):
        device = self.devices.setdefault((command["stage"], command["device"]), Device())
        name = f"sdk-{next(self.ids)}"
        self.running[name] = self.sdk_type(self.stage(command), device, command["user"], self.ids)
        return {"sdk": name}

    def sdk_refresh(self, command):
        self.sdk(command).refresh()
        return {}

    def sdk_read(self, command):
        return self.sdk(command).read(command["flag"], command["type"], command["default"], command["now"])

    def sdk_places(self, command):
        return {"assignments": self.sdk(command).places()}

    def sdk_track(self, command):
        self.sdk(command).track(command["event"], command["now"])
        return {}

    def sdk_consent(self, command):
        self.sdk(command).consent(command["consent"])
        return {}

    def sdk_flush(self, command):
        return {"done": self.sdk(command).flush()}

    def sdk_ledger(self, command):
        return self.sdk(command).ledger()

    def sdk_stop(self, command):
        self.running.pop(command["sdk"]).stop()
        return {}

    def sdk_kill(self, command):
        self.running.pop(command["sdk"]).kill()
        return {}

    def sdk(self, command):
        return self.running[command["sdk"]]


def serve(service):
    base.SERVICE = service
    base.COMMANDS |= {name.replace("_", ".", 1) for name in dir(service) if name.startswith("sdk_") and name != "sdk_type"}
    base.serve()


if __name__ == "__main__":
    serve(SDKService())
