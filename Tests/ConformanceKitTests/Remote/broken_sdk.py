#!/usr/bin/env python3
"""The example SDK with something wrong on purpose, or otherwise right: broken_sdk.py EXAMPLES FAULT."""
import sys

examples, fault = sys.argv[1], sys.argv[2]
sys.argv = sys.argv[:1]
sys.path.insert(0, examples)
import sdk_service  # noqa: E402
import subject_service as base  # noqa: E402


class Broken(sdk_service.SDK):
    def __init__(self, stage, device, user, ids):
        super().__init__(stage, device, user, ids)
        if fault == "forgets decisions":
            self.decided = None
        if fault == "shows what another was told" and device.decisions:
            self.decided = list(device.decisions.values())[-1]

    def refresh(self):
        if fault == "asks as somebody else":
            self.user = self.user | {"attributes": {}}
        if fault == "keeps quiet about age":
            try:
                super().refresh()
            finally:
                self.old = False
            return
        if fault == "never asks again" and self.decided:
            return
        try:
            self.persist(super().refresh)
        except base.Failure:
            if fault == "drops decisions in an outage":
                self.decided = None
            raise
        if fault == "ignores the kill switch":
            self.disabled = False

    def persist(self, attempt):
        """Makes an attempt, or five where it tries again by itself, unless the vendor stalls."""
        for left in reversed(range(5 if fault == "tries again by itself" else 1)):
            try:
                result = attempt()
                if result is not False:
                    return result
            except base.Failure:
                if left == 0:
                    raise
            if self.stage.exchanges and self.stage.exchanges[-1].get("fault") == "stall":
                return False
        return False

    def read(self, key, kind, default, now):
        if fault == "asks while it reads" and self.decided is None:
            self.refresh()
        answer = super().read(key, kind, default, now)
        if fault == "says nothing of errors":
            answer.pop("error", None)
        if fault == "exposes what nobody saw" and answer.get("error"):
            for flag in (self.decided or {"flags": []})["flags"]:
                self.expose(flag, now)
        return answer

    @staticmethod
    def fits(value, kind):
        return True if fault == "takes any type" else sdk_service.SDK.fits(value, kind)

    def expose(self, flag, now):
        if fault == "exposes at every read":
            self.exposed.clear()
        super().expose(flag, now)

    def places(self):
        control = {"isControl": True} if fault == "calls everything the control" else {}
        return [place | control for place in super().places()]

    def consent(self, consent):
        if fault != "keeps what was denied":
            super().consent(consent)

    def flush(self):
        queue = self.device.queue
        if fault == "sends backwards":
            queue.reverse()
        if fault == "keeps one event of a batch":
            self.device.ledger["delivered"] += len(queue[1:])
            del queue[1:]
        if fault.startswith("sends one by one"):
            self.BATCH = 1
        if fault == "gives new ids to repetitions":
            for event in queue:
                event["id"] = self.new_id()
        before = len(queue)
        done = self.persist(super().flush)
        if fault == "counts what it sends twice":
            self.device.ledger["delivered"] += before
        if fault == "empties the queue in an outage" and not done:
            queue.clear()
        if fault == "takes a page for a delivery" and not done and self.stage.exchanges[-1].get("fault") == "html200":
            self.device.ledger["delivered"] += len(queue)
            queue.clear()
        return True if fault == "says that all is done" else done

    def stop(self):
        if fault == "forgets its accounts when it stops":
            self.device.ledger = {"accepted": 0, "delivered": 0, "purged": 0, "dropped": {}}
        if fault == "drops what waits when it stops":
            self.device.queue.clear()

    def kill(self):
        if fault == "loses what waits in a kill":
            self.device.queue.clear()
        if fault == "loses decisions in a kill":
            self.device.decisions.clear()


class Service(sdk_service.SDKService):
    sdk_type = Broken

    def received(self, command):
        told = super().received(command)["received"]
        if fault == "sends one by one, and doesn't say what in":
            told = [{key: value for key, value in event.items() if key != "exchange"} for event in told]
        return {"received": told}


sdk_service.serve(Service())
