import Experimentation

extension ConformanceCase {
    /// The cases for subjects of several vendors: what each of them sees while another is in trouble.
    ///
    /// They aren't among ``all``, because a single vendor has nothing to show there.
    public static let composing: [ConformanceCase] = apart + together

    /// Whether it is about a subject of several vendors.
    var isAboutSeveralVendors: Bool { name.hasPrefix("composition/") }

    private static let apart: [ConformanceCase] = [
        several(
            "composition/one-destination-away",
            14,
            "An unreachable vendor gets everything later; the others get it now"
        ) {
            probe in
            let takers = try await probe.takers()
            var last = 0
            for away in takers {
                probe.note("\(away.name) goes away")
                try await away.stage.setReachable(false)
                let session = try await probe.session()
                try await probe.trackMarks(last + 1...last + 3, in: session)
                try await probe.deliverToWhoeverIsThere()
                last += 3
                for part in takers where part.name != away.name { try await probe.expect(part, has: 1...last) }
                let book = try await away.ledger(probe.client())
                let waiting = Ledger(accepted: last, delivered: last - 3, pending: 3)
                probe.expect(book, equals: waiting, "\(away.name)'s ledger meanwhile")
                try await away.stage.setReachable(true)
                probe.push(.seconds(3_600))
                try await probe.deliverEverywhere()
                try await probe.expect(away, has: 1...last)
            }
        },
        several(
            "composition/one-destination-refuses",
            14,
            "A vendor that rejects credentials keeps its events waiting; the others get theirs"
        ) {
            probe in
            let takers = try await probe.takers()
            let refusal = WorldFault(.status(401), on: .events, times: nil)
            let refusers = takers.filter { $0.subject.reason(forImpossible: refusal) == nil }
            guard !refusers.isEmpty else { throw CaseDoesNotApply("none of its vendors can refuse credentials") }
            for refusing in refusers {
                let before = try await refusing.marks().count
                try await probe.refuse(at: refusing, refusal)
                try await probe.trackMarks(before + 1...before + 2, in: try await probe.session())
                try await probe.deliverToWhoeverIsThere()
                for part in takers where part.name != refusing.name {
                    try await probe.expect(part, has: 1...before + 2)
                }
                let book = try await refusing.ledger(probe.client())
                probe.expect(book.pending, equals: 2, "what waits for \(refusing.name)")
                try await refusing.stage.clearFaults()
                try await probe.restart()
                probe.push(.seconds(3_600))
                try await probe.deliverEverywhere()
                try await probe.expect(refusing, has: 1...before + 2)
            }
        },
        several("composition/one-destination-gives-up", 14, "What one vendor never takes is dropped for that one alone")
        {
            probe in
            _ = try await probe.client(ClientOptions(batching: BatchPolicy(count: 1, largest: 1, attempts: 2)))
            let takers = try await probe.takers()
            let refusal = WorldFault(.status(400), on: .events, times: 2)
            let refusing = try probe.unwrap(
                takers.first { $0.subject.reason(forImpossible: refusal) == nil },
                "a vendor that may refuse an event"
            )
            try await probe.refuse(at: refusing, refusal)
            try await probe.trackMarks(1...3, in: try await probe.session())
            try await probe.deliverEverywhere(rounds: 12)
            for part in takers where part.name != refusing.name { try await probe.expect(part, has: 1...3) }
            let book = try await refusing.ledger(probe.client())
            probe.expect(book.dropped.values.reduce(0, +) >= 1, "what was refused is counted: \(book)")
            probe.expect(book.pending, equals: 0, "what waits for \(refusing.name)")
            probe.expect(book.accepted, equals: 3, "what was accepted for \(refusing.name)")
        },
        several(
            "composition/one-destination-hangs",
            15,
            "A vendor that hangs delays neither the others nor a flush",
            world: World.shop.changing { $0.patience = .seconds(2) }
        ) { probe in
            let takers = try await probe.takers()
            // Each must be given up by a time-out of its own; the first and the last are of different kinds.
            for (index, hanging) in [takers[0], takers[takers.count - 1]].enumerated() {
                let last = 2 * (index + 1)
                try await probe.refuse(at: hanging, WorldFault(.stall, on: .events, times: nil))
                try await probe.trackMarks(last - 1...last, in: try await probe.session())
                let limit: Duration = .milliseconds(500)
                _ = try await probe.timely(within: limit, "the flush") { try await probe.flush(within: limit) }
                for part in takers where part.name != hanging.name {
                    try await probe.eventually("\(part.name) gets its events", within: .seconds(5)) {
                        // The vendor that hung may have taken events and said nothing.
                        Probe.first(try await part.marks()) == Array(1...last)
                    }
                }
                let book = try await hanging.ledger(probe.client())
                probe.expect(book.pending, equals: 2, "what waits for \(hanging.name)")
                try await hanging.stage.clearFaults()
                probe.push(.seconds(3_600))
                try await probe.deliverEverywhere()
                probe.expect(Probe.first(try await hanging.marks()), equals: Array(1...last), "\(hanging.name) at last")
            }
        },
        several("composition/one-destination-without-consent", 16, "Who needs consent waits for it; the others don't") {
            probe in
            let takers = try await probe.takers()
            try await probe.trackMarks(1...2, in: try await probe.session(for: .cleo))
            try await probe.deliverToWhoeverIsThere()
            var held: [SubjectPart] = []
            for part in takers {
                let book = try await part.ledger(probe.client())
                if book.pending > 0 { held.append(part) }
            }
            guard !held.isEmpty, held.count < takers.count else {
                throw CaseDoesNotApply("its vendors need consent alike")
            }
            for part in takers {
                let isHeld = held.contains { $0.name == part.name }
                probe.expect(try await part.marks(), equals: isHeld ? [] : [1, 2], "what \(part.name) has")
            }
            try await probe.session(for: .cleo).setConsent(.granted)
            try await probe.deliverEverywhere()
            for part in takers {
                probe.expect(try await part.marks(), equals: [1, 2], "what \(part.name) has after consent")
            }
        },
        several(
            "composition/one-acceptance-over-a-kill",
            11,
            "An accepted event reaches every vendor it is owed to, even across a kill"
        ) { probe in
            let takers = try await probe.takers()
            let away = takers[0]
            try await away.stage.setReachable(false)
            try await probe.trackMarks(1...3, in: try await probe.session())
            try await probe.deliverToWhoeverIsThere()
            for part in takers.dropFirst() { try await probe.expect(part, has: 1...3) }
            try await probe.kill()
            try await away.stage.setReachable(true)
            probe.push(.seconds(3_600))
            try await probe.deliverEverywhere()
            for part in takers { try await probe.expect(part, has: 1...3) }
            var ids: [[String]] = []
            for part in takers where part.subject.wireFields.contains(.eventID) {
                ids.append(try await part.received().compactMap(\.eventID))
            }
            probe.expect(Set(ids).count <= 1, "an event has the same id everywhere: \(ids)")
        },
    ]

    static func several(
        _ name: String,
        _ promise: Int,
        _ summary: String,
        requires: Set<Capability> = [],
        needs: [String] = [],
        world: World = .shop,
        _ steps: @escaping Steps
    ) -> ConformanceCase {
        ConformanceCase(
            name,
            promise: promise,
            summary,
            requires: requires,
            needs: needs,
            world: world,
            steps: steps
        )
    }
}

extension Probe {
    /// Adds a fault at one of the vendors.
    func refuse(at part: SubjectPart, _ fault: WorldFault) async throws {
        note("from now on at \(part.name): \(fault)")
        try await part.stage.play([fault], of: part.subject)
    }
}
