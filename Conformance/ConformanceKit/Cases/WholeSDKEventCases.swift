import Experimentation

extension ConformanceCase {
    /// The promises of a whole SDK's own outbox.
    static let wholeSDKEvents: [ConformanceCase] = [
        sdk("event", 11, "An event arrives once, and the ledger says so", [.tracking], fields: [.name, .userID]) {
            probe in
            let sdk = try await probe.sdk()
            try await sdk.track(.custom("mark-1"))
            probe.expect(try await sdk.flush(), "nothing waits after the flush")
            let received = try await probe.received("custom")
            probe.expect(received.map(\.name), equals: ["mark-1"], "names")
            probe.expect(received.map(\.userID), equals: ["ada"], "users")
            probe.expect(try await sdk.ledger(), equals: Ledger(accepted: 1, delivered: 1), "the accounts")
        },
        sdk("order", 11, "Events arrive in order", [.tracking], fields: [.name]) { probe in
            let sdk = try await probe.sdk()
            for number in 1...7 { try await sdk.track(.custom("mark-\(number)")) }
            try await sdk.flush()
            probe.expect(try await probe.marks(), equals: Array(1...7), "the order of arrival")
        },
        sdk("batch", 11, "Several events travel in one request", [.tracking, .batching], fields: [.name]) { probe in
            let sdk = try await probe.sdk()
            try await probe.setReachable(false)
            for number in 1...3 { try await sdk.track(.custom("mark-\(number)")) }
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await sdk.flush()
            probe.expect(try await probe.marks(), equals: [1, 2, 3], "what arrived")
            let taken = try await probe.exchanges(.events).filter { $0.status.map((200..<300).contains) == true }
            probe.expect(taken.count, equals: 1, "requests of three events")
        },
        sdk("event-over-a-kill", 11, "An accepted event survives a kill", [.tracking], fields: [.name]) {
            probe in
            let sdk = try await probe.sdk()
            try await probe.setReachable(false)
            try await sdk.track(.custom("mark-1"))
            try await sdk.kill()
            try await probe.setReachable(true)
            let next = try await probe.sdk()
            probe.expect(try await next.flush(), "nothing waits after the flush")
            probe.expect(Probe.first(try await probe.marks()), equals: [1], "what arrived")
        },
        sdk(
            "event-over-a-stop",
            11,
            "An event that waits when the SDK is stopped is delivered by the next run",
            [.tracking],
            fields: [.name]
        ) {
            probe in
            let sdk = try await probe.sdk()
            try await probe.inject(WorldFault(.status(503), on: .events, times: nil))
            try await sdk.track(.custom("mark-1"))
            try await sdk.stop()
            try await probe.stage.clearFaults()
            probe.push(.seconds(600))
            try await probe.sdk().flush()
            probe.expect(Probe.first(try await probe.marks()), equals: [1], "what arrived")
        },
        sdk(
            "outage",
            14,
            "Events wait through an outage and arrive in order",
            [.tracking],
            fields: [.name]
        ) {
            probe in
            let sdk = try await probe.sdk()
            try await probe.inject(WorldFault(.status(503), on: .events, times: nil))
            for number in 1...3 { try await sdk.track(.custom("mark-\(number)")) }
            probe.expect(!(try await sdk.flush(within: 1)), "a flush into the outage isn't done")
            probe.expect(try await sdk.ledger().pending, equals: 3, "events that wait")
            try await probe.stage.clearFaults()
            for _ in 1...3 {
                probe.push(.seconds(600))
                if try await sdk.flush() { break }
            }
            probe.expect(Probe.first(try await probe.marks()), equals: [1, 2, 3], "the order of arrival")
        },
        sdk("login-page", 14, "A captive portal's page doesn't count as a delivery", [.tracking], fields: [.name]) {
            probe in
            let sdk = try await probe.sdk()
            try await probe.inject(WorldFault(.html200, on: .events))
            try await sdk.track(.custom("mark-1"))
            try await sdk.flush(within: 1)
            let arrived = try await probe.marks().count
            probe.expect(try await sdk.ledger().delivered, equals: arrived, "what is told of what arrived")
            probe.push(.seconds(600))
            try await sdk.flush()
            probe.expect(Probe.first(try await probe.marks()), equals: [1], "what arrived")
        },
        sdk("repetition", 11, "A repeated event has the same id", [.tracking, .eventIDs], fields: [.name, .eventID]) {
            probe in
            let sdk = try await probe.sdk()
            try await probe.inject(WorldFault(.resetAfterApplying, on: .events))
            try await sdk.track(.custom("mark-1"))
            for _ in 1...3 {
                if try await sdk.flush() { break }
                probe.push(.seconds(600))
            }
            let ids = try await probe.received("custom").map(\.eventID)
            probe.expect(ids.count, equals: 2, "arrivals of an event whose first answer was lost")
            probe.expect(Set(ids).count == 1 && ids.first ?? nil != nil, "ids: \(ids)")
        },
        sdk("stalled-flush", 15, "A flush ends by its deadline even if the vendor never answers", [.tracking]) {
            probe in
            let sdk = try await probe.sdk()
            try await probe.inject(WorldFault(.stall, on: .events, times: nil))
            try await sdk.track(.custom("mark-1"))
            let isDone = try await Bounded.run(for: .seconds(6)) { try await sdk.flush(within: 1) }
            probe.expect(!isDone, "it says that not everything went")
            probe.expect(try await sdk.ledger().pending, equals: 1, "events that wait")
        },
        sdk("balance", 12, "The ledger balances after deliveries, an outage and a restart", [.tracking]) { probe in
            let sdk = try await probe.sdk()
            try await sdk.track(.custom("mark-1"))
            try await sdk.flush()
            try await probe.setReachable(false)
            for number in 2...4 { try await sdk.track(.custom("mark-\(number)")) }
            try await sdk.flush(within: 1)
            try await sdk.stop()
            let ledger = try await probe.sdk().ledger()
            probe.expect(ledger, equals: Ledger(accepted: 4, delivered: 1, pending: 3), "the accounts after a restart")
            probe.expect(ledger.isBalanced, "\(ledger) balances")
        },
        sdk(
            "denied",
            16,
            "Withdrawing consent deletes waiting events, and nothing is sent",
            [.tracking],
            fields: [.name]
        ) { probe in
            let sdk = try await probe.sdk()
            try await probe.setReachable(false)
            try await sdk.track(.custom("mark-1"))
            try await sdk.setConsent(.denied)
            try await probe.setReachable(true)
            try await sdk.flush()
            probe.expect(try await probe.marks(), equals: [], "events that arrived")
            let ledger = try await sdk.ledger()
            probe.expect(ledger.purged == 1 && ledger.isBalanced, "the accounts: \(ledger)")
        },
        sdk(
            "exposure",
            10,
            "Reading a flag of an experiment twice is one exposure",
            [.flags, .experiments, .exposures],
            fields: [.experiment]
        ) { probe in
            let sdk = try await probe.readySDK()
            for _ in 1...2 { _ = try await sdk.read("checkout-color", default: "?") }
            try await sdk.flush()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures")
        },
        sdk(
            "no-exposure",
            10,
            "Neither a missing flag nor a type mismatch is an exposure",
            [.flags, .experiments, .exposures]
        ) {
            probe in
            let sdk = try await probe.readySDK()
            _ = try await sdk.read("nowhere", default: "?")
            _ = try await sdk.read("checkout-color", default: 7)
            try await sdk.flush()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures")
        },
    ]
}
