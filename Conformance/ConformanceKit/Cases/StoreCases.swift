import Experimentation

extension ConformanceCase {
    /// Promises 5 and 11 to 13 with stores that are shared, corrupt or small, and with clocks that jump.
    static let stores: [ConformanceCase] = [
        delivery(
            "delivery/old-before-new-over-a-restart",
            11,
            "The previous run's events arrive before new ones"
        ) { probe in
            try await probe.setReachable(false)
            try await probe.trackMarks(1...3, in: try await probe.session())
            try await probe.restart()
            try await probe.trackMarks(4...6, in: try await probe.session())
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(Probe.first(try await probe.marks()), equals: Array(1...6), "the order")
        },
        delivery(
            "delivery/a-clock-that-goes-back",
            11,
            "Setting the clock back by an hour neither loses events nor changes their order"
        ) { probe in
            let session = try await probe.session()
            try await probe.setReachable(false)
            try await probe.trackMarks(1...2, in: session)
            probe.note("the clock is set back by an hour")
            probe.time.setBack(by: .seconds(3_600))
            try await probe.trackMarks(3...4, in: session)
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            let ledger = try await probe.deliverAll(rounds: 60)
            probe.expect(Probe.first(try await probe.marks()), equals: [1, 2, 3, 4], "the order")
            probe.expect(ledger, equals: Ledger(accepted: 4, delivered: 4), "the ledger")
        },
        ConformanceCase(
            "caching/a-clock-that-goes-back",
            promise: 5,
            "Setting the clock back makes no value look fresher, and loses none",
            requires: [.flags, .offlineStart],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            _ = try await probe.readySession()
            try await probe.setReachable(false)
            probe.note("the clock is set back by a day")
            probe.time.setBack(by: .seconds(86_400))
            try await probe.restart()
            let session = try await probe.session()
            await probe.refresh(session)
            let details = session.details("welcome", default: "x")
            probe.expect(details.value, equals: "Hello!", "the value")
            probe.expect([.cached, .stale].contains(details.reason), "the reason: \(details.reason)")
            probe.expect(details.age.map { $0 >= .zero } ?? false, "the age: \(String(describing: details.age))")
        },
        ConformanceCase(
            "caching/tampered",
            promise: 5,
            "Stored decisions that were tampered with aren't read, and a good answer replaces them",
            requires: [.flags, .offlineStart],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            _ = try await probe.readySession()
            try await probe.setReachable(false)
            probe.note("a byte of every value in the store is changed")
            probe.wrapStore { SpoiltStore($0).clientStore }
            try await probe.restart()
            let session = try await probe.session()
            let error = await probe.refresh(session)
            probe.expect(error != nil, "refresh must say that there are no decisions")
            let details = session.details("welcome", default: "x")
            probe.expect(details.value, equals: "x", "the value")
            probe.expect(details.reason, equals: .error, "the reason")
            try await probe.setReachable(true)
            probe.push(.seconds(3_600))
            await probe.refresh(session)
            probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "the value after a good answer")
        },
        delivery(
            "bounds/bytes",
            13,
            "A store with a limit in bytes drops the oldest events and counts them"
        ) { probe in
            probe.use(ClientStore(outbox: InMemoryOutboxStore(maximumBytes: 8_192), state: InMemoryStateStore()))
            let client = try await probe.client()
            await client.setConnectivity(.offline)
            let session = try await probe.session()
            for number in 1...9 {
                var event = try await probe.event(number)
                event.attributes["padding"] = .string(String(repeating: "x", count: 1_500))
                try await session.track(event)
            }
            let status = try await client.outboxStatus()
            let dropped = try await probe.ledger().dropped[.overflow] ?? 0
            // The bound applies to each destination of an event.
            let most = try await 8_192 * max(1, client.ledgers().count)
            probe.expect(status.bytes <= most, "\(status.bytes) bytes wait")
            probe.expect(dropped >= 4 && dropped < 9, "\(dropped) of nine events were dropped")
            await client.setConnectivity(.online)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: Array((dropped + 1)...9), "what is left")
        },
        delivery(
            "stores/two-clients",
            11,
            "Two clients of one store deliver each event once and keep each user's order"
        ) { probe in
            let one = try await probe.client(
                ClientOptions(batching: BatchPolicy(count: 100, interval: .seconds(3_600)))
            )
            let other = try await probe.anotherClient()
            for number in 1...10 {
                let client = number.isMultiple(of: 2) ? other : one
                try await client.track(try await probe.event(number), for: .ada)
            }
            for round in 1...4 {
                _ = try await (round.isMultiple(of: 2) ? one : other).flush(within: .seconds(2))
            }
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: Array(1...10), "what the vendor took")
            probe.expect(try await probe.ledger().pending, equals: 0, "what waits")
        },
        delivery(
            "stores/another-vendor",
            11,
            "Another vendor's events in the same store are neither sent nor counted here"
        ) { probe in
            let stranger = StrangeProvider()
            let other = try await probe.anotherClient(of: stranger)
            try await probe.trackMarks(1...2, in: try await probe.session())
            try await other.track(.custom("mark-7"), for: .ada)
            try await probe.trackMarks(3...3, in: try await probe.session())
            try await probe.deliverAll()
            _ = try await other.flush(within: .seconds(2))
            probe.expect(try await probe.marks(), equals: [1, 2, 3], "what the vendor took")
            probe.expect(stranger.taken, equals: ["mark-7"], "what the other vendor took")
            probe.expect(try await probe.ledger(), equals: Ledger(accepted: 3, delivered: 3), "the ledger")
        },
        delivery(
            "destinations/each-by-itself",
            11,
            "An event that is owed elsewhere too is delivered here although it can't be delivered there, and there later"
        ) { probe in
            let stranger = StrangeProvider()
            stranger.setAway(true)
            probe.send(alsoTo: stranger)
            try await probe.trackMarks(1...3, in: try await probe.session())
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1, 2, 3], "what the vendor took")
            probe.expect(stranger.taken, equals: [], "what the other one took")
            stranger.setAway(false)
            probe.push(.seconds(3_600))
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1, 2, 3], "what the vendor took in the end")
            probe.expect(stranger.taken.count, equals: 3, "what the other one took in the end")
            let ledgers = try await probe.client().ledgers()
            // A subject of several vendors may owe each of them an event.
            let mine = ledgers.filter { $0.key != stranger.destination }.values.filter { $0.accepted > 0 }
            probe.expect(!mine.isEmpty, "the vendor has no ledger")
            for ledger in mine {
                probe.expect(ledger, equals: Ledger(accepted: 3, delivered: 3), "the vendor's ledger")
            }
            probe.expect(
                ledgers[stranger.destination],
                equals: Ledger(accepted: 3, delivered: 3),
                "the other one's ledger"
            )
        },
        delivery(
            "destinations/an-outage-here",
            11,
            "An outage of this vendor holds up no other destination"
        ) { probe in
            let stranger = StrangeProvider()
            probe.send(alsoTo: stranger)
            try await probe.setReachable(false)
            try await probe.trackMarks(1...3, in: try await probe.session())
            try await probe.tryOnce()
            probe.expect(stranger.taken.count, equals: 3, "what the other one took")
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1, 2, 3], "what the vendor took in the end")
            probe.expect(stranger.taken.count, equals: 3, "what the other one took in the end")
        },
    ]
}
