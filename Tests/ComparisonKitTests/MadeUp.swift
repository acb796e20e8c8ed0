import ComparisonKit
import ConformanceKit
import Experimentation

/// A comparison made up by hand that uses every feature of the reports.
enum MadeUp {
    static let steps: [Comparison.StepName] = [
        .init(number: 1, title: "Ada opens the shop", action: "arrive"),
        .init(number: 2, title: "Her decisions are fetched", action: "refresh"),
        .init(number: 3, title: "Which <colour> has the checkout?", action: "read"),
        .init(number: 4, title: "She buys", action: "track"),
        .init(number: 5, title: "What waits is delivered", action: "flush"),
    ]

    static let north = {
        var story = northStory
        story.growth = Growth(
            flags: [
                .init(count: 10, traffic: Traffic(requests: 1, bytesSent: 800, bytesReceived: 1_000, connections: 1)),
                .init(count: 100, traffic: Traffic(requests: 1, bytesSent: 800, bytesReceived: 9_000, connections: 1)),
                .init(
                    count: 1_000,
                    traffic: Traffic(requests: 1, bytesSent: 800, bytesReceived: 89_000, connections: 1)
                ),
            ],
            events: [
                .init(count: 10, traffic: Traffic(requests: 2, bytesSent: 3_100, bytesReceived: 60, connections: 0))
            ]
        )
        story.monthly = MonthlyCost(
            of: usage,
            first: .init(requests: 3, bytesSent: 4_000, bytesReceived: 2_000, events: 11),
            later: [.init(requests: 2, bytesSent: 3_000, bytesReceived: 500, events: 10)],
            takesEvents: true
        )
        return story
    }()

    static let usage = Usage(monthlyUsers: 50_000, sessions: 3, reads: 7, events: 9)

    private static let northStory = VendorStory(
        name: "north",
        capabilities: [.flags, .experiments, .exposures, .tracking],
        reasons: ["campaigns": "North has no campaigns"],
        outcomes: [
            StepOutcome(step: 1),
            StepOutcome(
                step: 2,
                traffic: Traffic(requests: 1, bytesSent: 812, bytesReceived: 1420, connections: 1),
                latency: Latency(p50: 2.1, p99: 9.75),
                status: .ready,
                exchanges: [1]
            ),
            StepOutcome(
                step: 3,
                evaluation: .init(flag: "checkout-color", value: "green", variant: "v-2", reason: "SPLIT"),
                latency: Latency(p50: 0.004, p99: 0.01),
                status: .ready
            ),
            StepOutcome(step: 4, events: EventCount(accepted: 1, pending: 2)),
            StepOutcome(
                step: 5,
                traffic: Traffic(requests: 2, bytesSent: 1300, bytesReceived: 240, connections: 0),
                latency: Latency(p50: 3.5, p99: 4.5),
                events: EventCount(delivered: 2),
                exchanges: [2, 3]
            ),
        ],
        exchanges: [
            Exchange(
                number: 1,
                purpose: .decisions,
                operation: "decide",
                method: "POST",
                path: "/decide?mode=<normal>",
                status: 200,
                bytesIn: 812,
                bytesOut: 1420,
                request: "POST /decide HTTP/1.1\r\n\r\n{\"user\":\"ada & co\"}",
                response: "HTTP/1.1 200 OK\r\n\r\n{}"
            ),
            Exchange(
                number: 2,
                purpose: .events,
                operation: "events",
                method: "POST",
                path: "/events",
                status: 503,
                fault: "status",
                request: "POST /events"
            ),
            Exchange(number: 3, purpose: .events, operation: "events", method: "POST", path: "/events", status: nil),
        ],
        ledger: Ledger(accepted: 2, delivered: 2),
        received: ["exposure": 1, "purchase": 1],
        findings: Findings(
            offline: .init(readings: 3, answered: 2, reasons: ["STALE"], accepted: 2, waiting: 1),
            linking: .init(flags: 4, flagsKept: 3, places: 1, placesKept: 1, isVendorTold: true, requests: 2),
            withdrawal: .init(purged: 2, flags: 4, flagsKept: 4, isVendorTold: true)
        )
    )

    static let south = VendorStory(
        name: "south",
        capabilities: [.tracking, .campaigns],
        reasons: ["flags": "South has no flags"],
        deviations: [
            KnownDeviation("delivery/order", reason: "South orders by arrival", link: "docs/south.md#order")
        ],
        refusedEvents: ["purchase": "South has no <orders>"],
        gaps: [WorldGap("flags", "South has no flags")],
        outcomes: [
            StepOutcome(step: 1),
            StepOutcome(step: 2, kind: .unsupported, note: "South has no flags"),
            StepOutcome(step: 3, kind: .unsupported, note: "South has no flags"),
            StepOutcome(step: 4, kind: .failed, error: "TRANSPORT"),
        ],
        findings: Findings(
            offline: .init(accepted: 1),
            linking: .init(failure: "failed: TIMEOUT"),
            withdrawal: .init(purged: 1, waiting: 1, arrivals: 2)
        ),
        failure: "step 5 did not end within 10 s"
    )

    static let comparison = {
        var comparison = plain
        comparison.timing = Timing(rounds: 120, roundTripMilliseconds: 40)
        comparison.usage = usage
        return comparison
    }()

    private static let plain = Comparison(
        scenario: "made-up",
        title: "A shop & its <checkout>",
        summary: "Ada buys a teapot.",
        rounds: 120,
        steps: steps,
        vendors: [north, south]
    )
}
