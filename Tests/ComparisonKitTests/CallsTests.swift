import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

@testable import ComparisonKit

@Suite("Calls that have no effect with another vendor")
struct CallsTests {
    @Test("there is an example of every type of event that an application tracks")
    func examples() {
        let others = ["exposure", "consentChanged", "native"]
        #expect(TrackingEvent.examples.map(\.type) == TrackingEvent.types.filter { !others.contains($0) })
    }

    @Test("a type counts as refused only if the adapter doesn't support it, not if it rejects the example")
    func refusals() async throws {
        var scenario = Scenario.login
        scenario.steps = Array(scenario.steps.prefix(1))
        let vendors = ["flagship", "sigma", "evergage"]
        let subjects = try vendors.map { name in try #require(Vendor.named(name)?.subjects.first) }
        let comparison = await ComparisonRunner().run(scenario, with: subjects)
        let refused = comparison.vendors.map { Set($0.refusedEvents.keys) }
        let all = Set(TrackingEvent.examples.map(\.type))
        #expect(all.subtracting(refused[0]) == ["custom", "screenView", "pageView", "goalCompleted", "purchase"])
        #expect(refused[1] == all)
        #expect(
            refused[2] == [
                "goalCompleted", "goalAbandoned", "sessionEnded", "notificationReceived", "notificationOpened",
            ]
        )
    }

    @Test("calls are grouped by their common reason; what the old vendor didn't support isn't lost")
    func lost() throws {
        let before = VendorStory(
            name: "a",
            capabilities: [.overrides, .tracking],
            refusedEvents: ["share": "no share"]
        )
        let after = VendorStory(
            name: "b",
            capabilities: [.tracking],
            reasons: ["overrides": "B can't force"],
            refusedEvents: [
                "share": "B has no hit for share", "comment": "B has no hit for comment",
                "viewTag": "B has no hit for viewTag", "installed": "B has no hit for installed, ever",
            ]
        )
        let comparison = Comparison(
            scenario: "s",
            title: "S",
            summary: "",
            rounds: 1,
            steps: [],
            vendors: [before, after]
        )
        #expect(
            try #require(comparison.swap(from: "a", to: "b")).lostCalls == [
                .init(calls: ["client.force", "client.removeOverrides"], reason: "B can't force"),
                .init(calls: ["track(.viewTag)", "track(.comment)"], reason: "B has no hit for these"),
                .init(calls: ["track(.installed)"], reason: "B has no hit for installed, ever"),
            ]
        )
        #expect(try #require(comparison.swap(from: "b", to: "a")).lostCalls == [])
    }
}
