import Experimentation
import Foundation

extension ConformanceCase {
    /// Promises 13, 14 and 15: bounds, poison events, outages, responses that are no delivery, deadlines.
    static let outages: [ConformanceCase] =
        notDelivered + [
            delivery("outages/ten-rounds-lose-nothing", 14, "No event is dropped, however often the vendor fails") {
                probe in
                try await probe.inject(WorldFault(.status(503), on: .events, times: nil))
                try await probe.trackMarks(1...5, in: try await probe.session())
                for _ in 0..<10 {
                    try await probe.tryOnce()
                    probe.push(.seconds(600))
                }
                probe.expect(try await probe.ledger(), equals: Ledger(accepted: 5, pending: 5), "the ledger meanwhile")
                try await probe.stage.clearFaults()
                let ledger = try await probe.deliverAll()
                probe.expect(ledger, equals: Ledger(accepted: 5, delivered: 5), "the ledger at the end")
                probe.expect(try await probe.marks(), equals: Array(1...5), "what the vendor took")
            },
            delivery(
                "outages/vendor-away-for-a-day",
                14,
                "A vendor that is unreachable for hours gets everything once it is back"
            ) { probe in
                try await probe.setReachable(false)
                let session = try await probe.session()
                for number in 1...4 {
                    try await probe.trackMarks(number...number, in: session)
                    try await probe.tryOnce()
                    probe.push(.seconds(1_800))
                }
                try await probe.setReachable(true)
                try await probe.deliverAll()
                probe.expect(try await probe.marks(), equals: Array(1...4), "what the vendor took")
            },
            delivery(
                "outages/retry-after-is-honoured",
                14,
                "Retry-After is respected: no request is sent before it has passed"
            ) { probe in
                try await probe.inject(WorldFault(.status(429, retryAfter: 60), on: .events, times: 1))
                try await probe.trackMarks(1...1, in: try await probe.session())
                try await probe.tryOnce()
                let first = try await probe.exchanges(.events).count
                probe.expect(try await probe.marks(), equals: [], "what the vendor took at once")
                probe.push(.seconds(20))
                try await probe.tryOnce()
                probe.expect(try await probe.exchanges(.events).count, equals: first, "requests within the minute")
                // The count alone isn't enough: `first` would include a request still in flight when it was taken.
                probe.expect(try await probe.marks(), equals: [], "what the vendor took within the minute")
                probe.push(.seconds(60))
                try await probe.deliverAll()
                probe.expect(try await probe.marks(), equals: [1], "what the vendor took")
            },
            delivery(
                "outages/one-attempt-at-a-time",
                14,
                "An adapter without an answer reports it after one attempt and leaves retries to the outbox"
            ) { probe in
                _ = try await probe.client(ClientOptions(batching: BatchPolicy(count: 100, interval: .seconds(3_600))))
                try await probe.inject(WorldFault(.status(503), on: .events, times: 2))
                try await probe.trackMarks(1...1, in: try await probe.session())
                try await probe.tryOnce()
                probe.expect(try await probe.exchanges(.events).count, equals: 1, "requests for one attempt")
                probe.expect(try await probe.ledger(), equals: Ledger(accepted: 1, pending: 1), "the ledger after it")
                try await probe.deliverAll()
                probe.expect(try await probe.marks(), equals: [1], "what the vendor took in the end")
            },
            delivery(
                "outages/too-much-at-once",
                14,
                "A batch too large for the vendor is sent in parts, without losing an event",
                requires: [.batching]
            ) { probe in
                _ = try await probe.client(ClientOptions(batching: BatchPolicy(count: 100, interval: .seconds(3_600))))
                try await probe.inject(WorldFault(.status(413), on: .events, times: 1))
                try await probe.trackMarks(1...4, in: try await probe.session())
                let ledger = try await probe.deliverAll()
                probe.expect(ledger, equals: Ledger(accepted: 4, delivered: 4), "the ledger")
                probe.expect(try await probe.marks(), equals: [1, 2, 3, 4], "what the vendor took")
            },
            delivery(
                "outages/retries-slow-down",
                14,
                "Waits between attempts grow, up to a bound"
            ) { probe in
                try await probe.inject(WorldFault(.status(500), on: .events, times: nil))
                _ = try await probe.client(ClientOptions(batching: BatchPolicy(count: 1, interval: .seconds(1))))
                var moment = probe.time.instant
                try await probe.trackMarks(1...1, in: try await probe.session())
                var waits: [Duration] = []
                for attempt in 1...5 {
                    let isMade = try await probe.eventually(
                        "attempt \(attempt) is made by itself",
                        within: .seconds(20)
                    ) {
                        try await probe.exchanges(.events).count == attempt
                    }
                    guard isMade else { return }
                    let wait = try await probe.waitBeforeNextAttempt(since: moment)
                    waits.append(wait)
                    moment = probe.time.instant.advanced(by: wait)
                    probe.push(wait)
                }
                let growths = zip(waits, waits.dropFirst())
                // With jitter fixed at one half, each wait is twice as long as the one before.
                probe.expect(growths.allSatisfy { $1 > $0 * 1.5 }, "each wait is longer than the one before: \(waits)")
                probe.expect(waits.allSatisfy { $0 >= .milliseconds(500) }, "no wait is short: \(waits)")
                probe.expect(waits.allSatisfy { $0 <= .seconds(3_600) }, "no wait is endless: \(waits)")
                try await probe.stage.clearFaults()
                try await probe.deliverAll()
                probe.expect(try await probe.ledger().delivered, equals: 1, "delivered at the end")
            },
            delivery(
                "outages/refused-credentials-keep-everything",
                14,
                "Rejected credentials lose nothing: once they are corrected, everything is delivered"
            ) { probe in
                try await probe.inject(WorldFault(.status(401), on: .events, times: nil))
                try await probe.trackMarks(1...3, in: try await probe.session())
                _ = try await probe.flush(within: .seconds(2))
                let ledger = try await probe.ledger()
                probe.expect(ledger.pending, equals: 3, "what waits")
                try await probe.stage.clearFaults()
                try await probe.restart()
                probe.push(.seconds(3_600))
                try await probe.deliverAll()
                probe.expect(Probe.first(try await probe.marks()), equals: [1, 2, 3], "what the vendor took")
            },
            delivery(
                "outages/poison-blocks-nobody",
                14,
                "A rejected event is dropped and counted, and the others arrive"
            ) { probe in
                try await probe.inject(WorldFault(.status(400), on: .events, times: 5))
                _ = try await probe.client(
                    ClientOptions(batching: BatchPolicy(count: 1, largest: 1, interval: .seconds(1), attempts: 2))
                )
                try await probe.trackMarks(1...8, in: try await probe.session())
                let ledger = try await probe.deliverAll(rounds: 30)
                probe.expect(ledger.pending, equals: 0, "what waits")
                probe.expect(ledger.delivered >= 3, "most arrive: \(ledger)")
                probe.expect(ledger.dropped.values.reduce(0, +) >= 1, "what was refused is counted: \(ledger)")
                probe.expect(ledger.delivered + ledger.dropped.values.reduce(0, +), equals: 8, "delivered and dropped")
            },
            delivery(
                "outages/poison-in-a-batch",
                14,
                "An event that makes the vendor reject its whole batch is isolated; the others arrive in order",
                requires: [.batching]
            ) { probe in
                try await probe.inject(WorldFault(.status(400), on: .events, times: nil, containing: "mark-4"))
                _ = try await probe.client(
                    ClientOptions(batching: BatchPolicy(count: 100, interval: .seconds(3_600), attempts: 3))
                )
                try await probe.trackMarks(1...8, in: try await probe.session())
                let ledger = try await probe.deliverAll(rounds: 30)
                probe.expect(try await probe.marks(), equals: [1, 2, 3, 5, 6, 7, 8], "what the vendor took")
                probe.expect(ledger.delivered, equals: 7, "delivered")
                probe.expect(ledger.dropped.values.reduce(0, +), equals: 1, "given up: \(ledger)")
            },
            delivery(
                "outages/too-large-by-itself",
                14,
                "An event too large even by itself is dropped, and the others arrive in order"
            ) { probe in
                try await probe.inject(WorldFault(.status(413), on: .events, times: nil, containing: "mark-4"))
                _ = try await probe.client(ClientOptions(batching: BatchPolicy(count: 100, interval: .seconds(3_600))))
                try await probe.trackMarks(1...8, in: try await probe.session())
                let ledger = try await probe.deliverAll(rounds: 30)
                probe.expect(try await probe.marks(), equals: [1, 2, 3, 5, 6, 7, 8], "what the vendor took")
                probe.expect(ledger.delivered, equals: 7, "delivered")
                probe.expect(ledger.dropped, equals: [.rejected: 1], "given up")
            },
            delivery("outages/refused-for-a-while", 14, "A temporary rejection costs an attempt, not the event") {
                probe in
                try await probe.inject(WorldFault(.status(400), on: .events, times: 1))
                _ = try await probe.client(
                    ClientOptions(batching: BatchPolicy(count: 1, largest: 1, interval: .seconds(1), attempts: 3))
                )
                try await probe.trackMarks(1...1, in: try await probe.session())
                let ledger = try await probe.deliverAll(rounds: 12)
                probe.expect(ledger, equals: Ledger(accepted: 1, delivered: 1), "the ledger")
                probe.expect(try await probe.marks(), equals: [1], "what the vendor took")
            },
            delivery("bounds/overflow-is-counted", 13, "A full store drops the oldest events and counts them") {
                probe in
                probe.use(ClientStore(outbox: InMemoryOutboxStore(maximumCount: 5), state: InMemoryStateStore()))
                // Offline, so that nothing is in flight: events in flight are spared, and some vendors are sent each
                // event at once.
                await (try await probe.client()).setConnectivity(.offline)
                try await probe.trackMarks(1...8, in: try await probe.session())
                let ledger = try await probe.ledger()
                probe.expect(ledger.pending, equals: 5, "what waits")
                probe.expect(ledger.dropped, equals: [.overflow: 3], "what was dropped")
                await (try await probe.client()).setConnectivity(.online)
                probe.push(.seconds(600))
                try await probe.deliverAll()
                probe.expect(try await probe.marks(), equals: [4, 5, 6, 7, 8], "what is left")
            },
            ConformanceCase(
                "bounds/what-is-dear-stays",
                promise: 13,
                "Purchases outlast views when a full store drops events",
                requires: [.tracking, .commerce],
                world: .shop
            ) { probe in
                probe.use(ClientStore(outbox: InMemoryOutboxStore(maximumCount: 4), state: InMemoryStateStore()))
                try await probe.setReachable(false)
                let session = try await probe.session()
                let order = Order(id: "order-1", lines: [LineItem(item: .mug)], total: 12.5, currency: "EUR")
                try await probe.track(.purchase(order), in: session)
                for number in 1...8 {
                    try await probe.track(
                        .viewItem(CatalogItem(id: "item-\(number)", name: "Item", price: 1)),
                        in: session
                    )
                }
                try await probe.setReachable(true)
                probe.push(.seconds(600))
                try await probe.deliverAll()
                probe.expect(try await probe.received("purchase").count, equals: 1, "the purchase")
            },
            delivery(
                "bounds/too-large",
                13,
                "An event over the size limit is rejected with TOO_LARGE and leaves no trace"
            ) {
                probe in
                let session = try await probe.session()
                let text = String(repeating: "x", count: 100_000)
                var event = try await probe.event(1)
                event.attributes["text"] = .string(text)
                let large = event
                await probe.expectError("the event", .tooLarge, .invalidArgument) { try await session.track(large) }
                probe.expect(try await probe.ledger(), equals: Ledger(), "the ledger")
            },
            delivery("deadlines/flush", 15, "A flush ends by its deadline even if the vendor never answers") { probe in
                try await probe.inject(WorldFault(.stall, on: .events, times: nil))
                try await probe.trackMarks(1...1, in: try await probe.session())
                let limit: Duration = .milliseconds(300)
                let isDone = try await probe.timely(within: limit, "the flush") { try await probe.flush(within: limit) }
                probe.expect(isDone, equals: false, "whether all was delivered")
                probe.expect(try await probe.ledger().pending, equals: 1, "what waits")
            },
            delivery("deadlines/shutdown", 15, "A shutdown ends by its deadline even if the vendor never answers") {
                probe in
                try await probe.inject(WorldFault(.stall, on: .events, times: nil))
                try await probe.trackMarks(1...1, in: try await probe.session())
                let client = try await probe.client()
                let limit: Duration = .milliseconds(300)
                await probe.timely(within: limit, "the shutdown") { await client.shutdown(within: limit) }
            },
            delivery("deadlines/shutdown-delivers", 15, "A shutdown delivers what it can") { probe in
                try await probe.trackMarks(1...3, in: try await probe.session())
                await (try await probe.client()).shutdown(within: .seconds(10))
                probe.expect(try await probe.marks(), equals: [1, 2, 3], "what the vendor took")
            },
            delivery(
                "deadlines/shutdown-keeps-the-rest",
                15,
                "What a shutdown can't deliver is delivered by the next run"
            ) { probe in
                try await probe.setReachable(false)
                try await probe.trackMarks(1...3, in: try await probe.session())
                try await probe.restart()
                try await probe.setReachable(true)
                probe.push(.seconds(600))
                try await probe.deliverAll()
                probe.expect(Probe.first(try await probe.marks()), equals: [1, 2, 3], "what the vendor took")
            },
            delivery(
                "deadlines/after-shutdown",
                15,
                "After a shutdown, track throws SHUT_DOWN, and a second shutdown is harmless"
            ) { probe in
                let session = try await probe.session()
                let event = try await probe.event(1)
                let client = try await probe.client()
                await client.shutdown(within: .seconds(1))
                await client.shutdown(within: .seconds(1))
                await probe.expectError("track", .shutDown) { try await session.track(event) }
            },
            delivery(
                "deadlines/nothing-to-flush",
                15,
                "A flush with nothing to deliver returns immediately and sends no request"
            ) { probe in
                let isDone = try await probe.timely(within: .zero, "the flush") { try await probe.flush() }
                probe.expect(isDone, equals: true, "whether all was delivered")
                probe.expect(try await probe.exchanges(.events).count, equals: 0, "requests")
            },
        ]

    private static let notDelivered: [ConformanceCase] = [
        ("a-redirect", "a redirect", WorldFault.Kind.redirect),
        ("a-500", "a 500", .status(500)),
        ("a-502", "a 502", .status(502)),
        ("a-408", "a 408", .status(408)),
        ("a-429", "a 429", .status(429, retryAfter: 1)),
        ("a-reset", "a connection reset", .reset),
        ("a-login-page", "a captive portal's page with status 200", .html200),
        ("garbage", "garbage with status 200", .garbage),
        ("a-truncated-answer", "a truncated answer", .truncate),
        ("a-failure-with-200", "a failure reported with status 200", .vendorFailure200),
    ]
    .map { bad in
        delivery(
            "outages/not-delivered-by-\(bad.0)",
            14,
            "After \(bad.1), the event isn't counted as delivered and is sent again"
        ) { probe in
            try await probe.inject(WorldFault(bad.2, on: .events, times: nil))
            try await probe.trackMarks(1...2, in: try await probe.session())
            try await probe.tryOnce()
            let ledger = try await probe.ledger()
            probe.expect(ledger.delivered, equals: 0, "delivered")
            probe.expect(ledger.pending, equals: 2, "what waits")
            try await probe.stage.clearFaults()
            let end = try await probe.deliverAll()
            probe.expect(Probe.first(try await probe.marks()), equals: [1, 2], "what the vendor took in the end")
            probe.expect(end.delivered, equals: 2, "delivered in the end")
        }
    }
}
