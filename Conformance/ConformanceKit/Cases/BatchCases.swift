import Experimentation
import Foundation

extension ConformanceCase {
    /// More of promises 11 and 16: each event keeps its own time, attributes and id, even in a batch or in a later run;
    /// only the signal follows a withdrawal of consent.
    static let batches: [ConformanceCase] = [
        delivery("delivery/alike-and-yet-two", 11, "Events that are alike are several events, and each arrives") {
            probe in
            let session = try await probe.session()
            guard try await probe.event(1).type != "purchase" else {
                throw CaseDoesNotApply("an order's id makes two purchases one")
            }
            let client = try await probe.client()
            for count in [2, 1] {
                await client.setConnectivity(.offline)
                for _ in 0..<count {
                    try await probe.trackMarks(1...1, in: session)
                    // Without ids, a vendor may treat equal events within the same second as repetitions.
                    probe.push(.seconds(2))
                }
                await client.setConnectivity(.online)
                try await probe.deliverAll()
            }
            probe.expect(try await probe.marks(), equals: [1, 1, 1], "what the vendor took")
            probe.expect(try await probe.ledger(), equals: Ledger(accepted: 3, delivered: 3), "the ledger")
        },
        delivery(
            "delivery/each-at-its-time",
            11,
            "Events delivered together each carry their own time",
            fields: [.date]
        ) { probe in
            let client = try await probe.client()
            let session = try await probe.session()
            await client.setConnectivity(.offline)
            probe.push(.seconds(7_200))
            var happened: [Int: Date] = [:]
            for number in 1...3 {
                happened[number] = probe.time.now
                try await probe.trackMarks(number...number, in: session)
                probe.push(.seconds(1_800))
            }
            await client.setConnectivity(.online)
            try await probe.deliverAll()
            for received in try await probe.received() {
                guard let number = Probe.mark(received), let moment = happened.removeValue(forKey: number) else {
                    continue
                }
                let date = try probe.unwrap(probe.date(of: received), "the time of event \(number) on the wire")
                let difference = abs(date.timeIntervalSince(moment))
                probe.expect(difference < 30, "the time of event \(number) on the wire is \(difference) s off")
            }
            probe.expect(happened.keys.sorted(), equals: [], "events that didn't arrive")
        },
        delivery(
            "events/attributes-of-one-event-alone",
            11,
            "One event's attributes don't appear on another, whichever user's it is",
            fields: [.attributes]
        ) { probe in
            let client = try await probe.client()
            await client.setConnectivity(.offline)
            for (number, user) in [(1, User.ada), (2, .ada), (3, .ben)] {
                var event = try await probe.event(number)
                if number == 1 { event.attributes = event.attributes.merging(["colour": "red"]) }
                try await probe.track(event, in: try await probe.session(for: user))
            }
            await client.setConnectivity(.online)
            try await probe.deliverAll()
            let seen = try await probe.received().filter { Probe.mark($0) != nil }
            let colored = seen.filter { $0.attributes["colour"] != nil }.compactMap(Probe.mark)
            probe.expect(seen.count, equals: 3, "events")
            probe.expect(colored, equals: [1], "the events with the attribute")
        },
        delivery(
            "delivery/same-ids-after-a-kill",
            11,
            "Events that the next run repeats in other batches have the same ids",
            requires: [.eventIDs],
            fields: [.eventID]
        ) { probe in
            _ = try await probe.client(ClientOptions(batching: BatchPolicy(count: 100, interval: .seconds(3_600))))
            try await probe.inject(WorldFault(.resetAfterApplying, on: .events, times: 1))
            try await probe.trackMarks(1...3, in: try await probe.session())
            try await probe.tryOnce()
            try await probe.kill(
                andStartWith: ClientOptions(batching: BatchPolicy(count: 1, largest: 1, interval: .seconds(1)))
            )
            probe.push(.seconds(3_600))
            try await probe.deliverAll()
            // A vendor that knows the ids already may take them once.
            let arrivals = Dictionary(grouping: try await probe.received()) { Probe.mark($0) ?? 0 }
            var ids: Set<String> = []
            for number in 1...3 {
                let own = Set(arrivals[number, default: []].compactMap(\.eventID))
                probe.expect(own.count, equals: 1, "ids of event \(number)")
                ids.formUnion(own)
            }
            probe.expect(ids.count, equals: 3, "ids of three events")
        },
        delivery(
            "consent/nothing-but-the-signal",
            16,
            "After a withdrawal, the vendor receives nothing but that, not even the user's identity"
        ) { probe in
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            try await probe.deliverAll()
            let (heard, asked) = (try await probe.stage.received().count, try await probe.requestsAboutUsers())
            try await session.setConsent(.denied)
            let event = try await probe.event(2)
            await probe.expectError("track", .consentDenied) { try await session.track(event) }
            for _ in 0..<2 {
                try await probe.deliverAll()
                probe.push(.seconds(3_600))
            }
            let later = try await probe.stage.received().dropFirst(heard)
            let isTold = probe.subject.capabilities.contains(.consentSignal)
            probe.expect(later.map(\.type), equals: isTold ? ["consentChanged"] : [], "what the vendor heard of")
            let requests = try await probe.requestsAboutUsers() - asked
            probe.expect(isTold ? requests > 0 : requests == 0, "requests about users: \(requests)")
        },
    ]
}

extension Probe {
    /// The number of requests that tell the vendor of users: all but those for decisions and credentials.
    fileprivate func requestsAboutUsers() async throws -> Int {
        let told: [WorldFault.Operation] = [.events, .exposures, .identity]
        return try await exchanges().count { told.contains($0.purpose) }
    }
}
