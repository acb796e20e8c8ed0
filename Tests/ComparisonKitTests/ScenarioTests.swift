import ComparisonKit
import ConformanceKit
import Experimentation
import Foundation
import Testing

@Suite("Scenarios")
struct ScenarioTests {
    static func read(_ json: String) throws -> Scenario {
        try Scenario(SourceDocument(json: json.utf8, name: "s.json"))
    }

    static func scenario(_ steps: String) -> String {
        "{\"name\": \"s\", \"world\": \"shop\",\n\"steps\": [\n\(steps)\n]}"
    }

    private func refusal(of json: String) -> String {
        let error = #expect(throws: DocumentError.self) { try Self.read(json) }
        return error?.description ?? ""
    }

    @Test("every step of a document is read")
    func readsEveryStep() throws {
        let scenario = try Self.read(
            Self.scenario(
                """
                {"arrive": "ada", "title": "Hello"}, {"refresh": true}, {"read": "discount", "default": 0},
                {"see": "checkout"}, {"track": {"type": "custom", "name": "a", "value": 2}, "times": 3},
                {"track": [{"type": "installed"}, {"type": "share", "item": {"id": "mug-1"}}]},
                {"fault": {"operation": "events", "fault": "status", "status": 503, "times": 2}},
                {"flush": true}, {"network": "away"}, {"network": "back"}, {"killSwitch": true},
                {"consent": "denied"}, {"restart": true}, {"logIn": {"id": "eve", "consent": true}}, {"wait": 60}
                """
            )
        )
        #expect(
            scenario.steps.map(\.action) == [
                .arrive(userID: "ada"), .refresh, .read(flag: "discount", default: 0), .see(experiment: "checkout"),
                .track([.custom("a", value: 2)], times: 3),
                .track([.installed, .share(CatalogItem(id: "mug-1"))], times: 1),
                .fault([WorldFault(.status(503), on: .events, times: 2)]), .flush, .network(isReachable: false),
                .network(isReachable: true), .killSwitch(isOn: true), .consent(.denied), .restart,
                .logIn(User(id: "eve", consent: .granted)), .wait(seconds: 60),
            ]
        )
        #expect(scenario.steps.map(\.title).prefix(2) == ["Hello", "Decisions are fetched"])
        #expect(scenario.world == .shop)
    }

    @Test("the shipped scenarios survive a round trip", arguments: Scenario.shipped)
    func roundTrip(scenario: Scenario) throws {
        let bytes = try JSONEncoder().encode(scenario)
        #expect(try JSONDecoder().decode(Scenario.self, from: bytes) == scenario)
    }

    @Test("there are five shipped scenarios with distinct names, the checkout first")
    func shipped() {
        #expect(Scenario.shipped.map(\.name) == ["checkout", "login", "offline-start", "kill-switch", "black-friday"])
    }

    @Test(
        "an invalid step is rejected in one line with line, key and what was expected",
        arguments: [
            ("{\"arive\": \"ada\"}", "s.json:3: steps[0]: expected exactly one of arrive, refresh,"),
            ("{\"arrive\": \"ada\", \"refresh\": true}", "steps[0]: expected exactly one of"),
            ("{\"arrive\": \"ada\", \"titel\": \"x\"}", "s.json:3: steps[0].titel: unknown key; known here are"),
            ("{\"arrive\": \"eve\"}", "steps[0].arrive: the world has no user \"eve\"; it has ada, ben, cleo, dan"),
            ("{\"arrive\": \"\"}", "steps[0].arrive: expected a text that is not empty, found \"\""),
            ("{\"arrive\": 3}", "steps[0].arrive: expected a text, found 3"),
            ("{\"refresh\": true}", "steps[0].refresh: no user has arrived yet"),
            ("{\"refresh\": 1}", "steps[0].refresh: expected true or false, found 1"),
            ("{\"refresh\": false}", "steps[0].refresh: expected true, found false"),
            ("{\"read\": \"colour\", \"default\": 1}", "steps[0].read: no user has arrived yet"),
            (
                "{\"arrive\": \"ada\"},\n{\"read\": \"colour\", \"default\": 1}",
                "s.json:4: steps[1].read: the world has no flag"
            ),
            (
                "{\"arrive\": \"ada\"}, {\"read\": \"welcome\", \"default\": 1}",
                "of type string, as the flag has; found int"
            ),
            ("{\"arrive\": \"ada\"}, {\"read\": \"welcome\"}", "steps[1].default: expected the value to use"),
            (
                "{\"arrive\": \"ada\"}, {\"see\": \"x\"}",
                "steps[1].see: the world has no experiment \"x\"; it has checkout"
            ),
            (
                "{\"arrive\": \"ada\"}, {\"track\": {\"type\": \"jump\"}}",
                "steps[1].track.type: expected one of custom,"
            ),
            (
                "{\"arrive\": \"ada\"}, {\"track\": {\"type\": \"custom\"}}",
                "steps[1].track.name: expected text, found nothing"
            ),
            (
                "{\"arrive\": \"ada\"}, {\"track\": {\"type\": \"installed\", \"name\": \"x\"}}",
                "steps[1].track.name: unknown key"
            ),
            (
                "{\"arrive\": \"ada\"}, {\"track\": {\"type\": \"share\", \"item\": {}}}",
                "steps[1].track.item.id: expected a value, found nothing"
            ),
            (
                "{\"arrive\": \"ada\"},\n{\"track\": {\"type\": \"purchase\", \"order\": {\"total\": \"much\"}}}",
                "s.json:4: steps[1].track.order.total: expected a number, found \"much\""
            ),
            (
                "{\"arrive\": \"ada\"}, {\"track\": {\"type\": \"purchase\", \"order\": {\"lines\": [{\"item\": {\"id\": 7}}]}}}",
                "steps[1].track.order.lines[0].item.id: expected a text, found 7"
            ),
            ("{\"arrive\": \"ada\"}, {\"track\": []}", "steps[1].track: expected an event, or a list of events"),
            ("{\"network\": \"back\"}", "steps[0].network: the vendor isn't away here"),
            ("{\"network\": \"away\"}, {\"network\": \"away\"}", "steps[1].network: the vendor is away already"),
            ("{\"network\": \"gone\"}", "steps[0].network: expected one of away, back, found \"gone\""),
            (
                "{\"network\": \"away\"}, {\"fault\": {\"fault\": \"reset\"}}",
                "steps[1].fault: the vendor is away here, so no request could meet this fault"
            ),
            (
                "{\"fault\": {\"fault\": \"reset\", \"times\": 0}}",
                "steps[0].fault: a fault that happens 0 times is none"
            ),
            (
                "{\"fault\": [{\"fault\": \"reset\", \"times\": \"forever\"}, {\"fault\": \"stall\"}]}",
                "steps[0].fault: the fault \"stall on any, once\" could never happen after"
            ),
            ("{\"fault\": {\"fault\": \"flood\"}}", "steps[0].fault.fault: expected one of status, delay"),
            ("{\"killSwitch\": false}", "steps[0].killSwitch: the kill switch is off already"),
            ("{\"wait\": -1}", "steps[0].wait: expected a whole number from 1"),
            ("{\"arrive\": \"ada\"}, {\"consent\": \"maybe\"}", "steps[1].consent: expected one of unknown, granted"),
            (
                "{\"arrive\": \"ada\"}, {\"logIn\": {\"name\": \"x\"}}",
                "steps[1].logIn.id: expected a text, found nothing"
            ),
            ("{\"arrive\": \"ada\"}, {\"logIn\": {\"id\": \"ada\"}}", "\"ada\" has arrived by that id already"),
        ]
    )
    func refusesSteps(steps: String, message: String) {
        let text = refusal(of: Self.scenario(steps))
        #expect(text.contains(message))
        #expect(!text.contains("\n") && text.hasPrefix("s.json:"))
    }

    @Test(
        "a scenario that can't be played is rejected",
        arguments: [
            ("{}", "name: expected a text, found nothing"),
            ("[]", "expected an object, found a list"),
            ("{\"name\": \"s\", \"steps\": []}", "world: expected a world, or the name of one, found nothing"),
            (
                "{\"name\": \"s\", \"world\": \"moon\", \"steps\": []}",
                "world: expected a world, or the name of one: shop"
            ),
            ("{\"name\": \"s\", \"world\": \"shop\"}", "steps: expected a list of at least one step, found nothing"),
            ("{\"name\": \"s\", \"world\": \"shop\", \"steps\": 3}", "steps: expected a list, found 3"),
            (
                "{\"name\": \"s\", \"world\": {\"name\": \"w\", \"flags\": [{\"key\": \"a\", \"type\": \"date\", \"value\": 1}]}, \"steps\": []}",
                "world.flags[0].type: expected one of bool, int, double, string, object, array"
            ),
            (
                "{\"name\": \"s\", \"world\": {\"name\": \"w\", \"users\": [{\"attributes\": {}}]}, \"steps\": []}",
                "world.users[0].id: expected a text, found nothing"
            ),
        ]
    )
    func refusesScenarios(json: String, message: String) {
        #expect(refusal(of: json).contains(message))
    }

    @Test("ten thousand steps are too many")
    func refusesTenThousandSteps() {
        let steps = Array(repeating: "{\"wait\": 1}", count: 10_000).joined(separator: ",")
        #expect(refusal(of: Self.scenario(steps)) == "s.json:2: steps: expected at most 500 steps, found 10000")
    }

    @Test("more events than the limit are rejected")
    func refusesTooManyEvents() {
        let step = "{\"track\": {\"type\": \"installed\"}, \"times\": 15000}"
        let text = refusal(of: Self.scenario("{\"arrive\": \"ada\"}, \(step), \(step)"))
        #expect(text.contains("steps[2].track: expected at most 20000 events in all"))
    }

    @Test("the fields of every type of event are known, and of no other")
    func shapes() {
        #expect(EventShape.all.map(\.type) == TrackingEvent.types)
    }
}
