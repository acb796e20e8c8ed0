import Experimentation

extension ConformanceCase {
    /// What becomes of exposures and events, and of the two vendors' ledgers.
    static let movingEvents: [ConformanceCase] = [
        moves("one-exposure", 21, "A user's exposure arrives once, and only at the vendor that answered") {
            probe in
            let move = try probe.decidingMove(experiments: true)
            guard [move.old, move.new].contains(where: \.takesExposures) else {
                throw CaseDoesNotApply("neither vendor takes exposures")
            }
            var plan = MovePlan(.live, share: 0.5)
            plan.keepsVariations = move.new.canBeTold
            try await probe.start(plan)
            let users = Probe.people(0..<12)
            let visits = try await probe.visits(of: users, reading: 3)
            probe.expect(Set(visits.compactMap(\.vendor)).count, equals: 2, "the vendors that answer")
            try await probe.deliverEverywhere()
            for part in [move.old, move.new] {
                let own = zip(users, visits).filter { part.takesExposures && $0.1.vendor == part.name }.map(\.0.id)
                let exposures = try await part.received().filter { $0.type == "exposure" }
                probe.expect(exposures.count, equals: own.count, "exposures at \(part.name)")
                guard part.subject.wireFields.contains(.userID) else { continue }
                probe.expect(exposures.compactMap(\.userID).sorted(), equals: own.sorted(), "whose \(part.name) has")
            }
        },
        moves(
            "both-books-balance",
            21,
            "Each vendor gets each event once and each ledger balances, whichever was unreachable"
        ) {
            probe in
            let move = try probe.move()
            var plan = MovePlan(move.new.decides && move.old.decides ? .live : .dualWrite, share: 0.5)
            plan.keepsVariations = move.new.canBeTold
            let takers = try await probe.startTelling(plan)
            var last = 0
            for away in takers {
                probe.note("\(away.name) goes away")
                try await away.stage.setReachable(false)
                for user in Probe.people(0..<4) {
                    try await probe.trackMarks(last + 1...last + 1, in: try await probe.session(for: user))
                    last += 1
                }
                try await probe.deliverToWhoeverIsThere()
                for part in takers where part.name != away.name {
                    probe.expect(Set(try await part.marks()), equals: Set(1...last), "what \(part.name) has meanwhile")
                }
                let book = try await away.ledger(probe.client())
                probe.expect(book.pending, equals: 4, "what waits for \(away.name)")
                try await away.stage.setReachable(true)
                probe.push(.seconds(3_600))
                try await probe.deliverEverywhere()
            }
            for part in takers {
                probe.expect(try await part.marks().sorted(), equals: Array(1...last), "what \(part.name) has")
                let book = try await part.ledger(probe.client())
                probe.expect(book, equals: Ledger(accepted: last, delivered: last), "\(part.name)'s book")
            }
        },
        moves(
            "a-kill-between-two-deliveries",
            21,
            "A kill between the two deliveries neither loses nor repeats anything"
        ) {
            probe in
            let takers = try await probe.startTelling(MovePlan(.dualWrite))
            for (number, away) in takers.enumerated() {
                let marks = 3 * number + 1...3 * number + 3
                try await away.stage.setReachable(false)
                try await probe.trackMarks(marks, in: try await probe.session())
                try await probe.deliverToWhoeverIsThere()
                for part in takers where part.name != away.name {
                    try await probe.expect(part, has: 1...marks.upperBound)
                }
                try await probe.kill()
                try await away.stage.setReachable(true)
                probe.push(.seconds(3_600))
                try await probe.deliverEverywhere()
                for part in takers { try await probe.expect(part, has: 1...marks.upperBound) }
            }
            var ids: [[String]] = []
            for part in takers where part.subject.wireFields.contains(.eventID) {
                ids.append(try await part.received().compactMap(\.eventID))
            }
            probe.expect(Set(ids).count <= 1, "an event has the same id at both: \(ids)")
        },
        moves(
            "a-denial-covers-both",
            16,
            "When consent is withdrawn, events waiting for either vendor are purged, each in its ledger"
        ) {
            probe in
            let takers = try await probe.startTelling(MovePlan(.dualWrite))
            for part in takers { try await part.stage.setReachable(false) }
            let session = try await probe.session()
            try await probe.trackMarks(1...3, in: session)
            try await session.setConsent(.denied)
            for part in takers {
                let book = try await part.ledger(probe.client())
                probe.expect(book.purged, equals: 3, "purged for \(part.name)")
            }
            for part in takers { try await part.stage.setReachable(true) }
            probe.push(.seconds(3_600))
            try await probe.deliverEverywhere()
            for part in takers { probe.expect(try await part.marks(), equals: [], "what \(part.name) has") }
        },
        moves("one-kill-switch", 19, "A vendor's kill switch affects only the users whom it answers") {
            probe in
            let move = try probe.decidingMove(experiments: true)
            let parts = [move.old, move.new]
            guard let off = parts.first(where: { $0.subject.capabilities.contains(.killSwitch) }) else {
                throw CaseDoesNotApply("neither vendor has a kill switch")
            }
            var plan = MovePlan(.live, share: 0.5)
            plan.keepsVariations = move.new.canBeTold
            try await probe.start(plan)
            let users = Probe.people(0..<12)
            let before = try await probe.visits(of: users)
            probe.expect(Set(before.compactMap(\.vendor)).count, equals: 2, "the vendors that answer")
            probe.note("\(off.name)'s kill switch is turned on")
            try await off.stage.setKillSwitch(true)
            // Rules that are still valid aren't fetched again.
            probe.push(.seconds(3_600))
            let meanwhile = try await probe.visits(of: users)
            let expected = before.map { $0.vendor == off.name ? "?" : $0.color }
            probe.expect(meanwhile.map(\.color), equals: expected, "what they see meanwhile")
            let answered = zip(users, before).first { $0.1.vendor == off.name }.map(\.0)
            let one = try probe.unwrap(answered, "a user whom \(off.name) answers")
            _ = try await probe.visits(of: [one])
            probe.expect(try await probe.client().status != .disabled, "the whole isn't off")
            try await off.stage.setKillSwitch(false)
            probe.push(.seconds(3_600))
            // While a switch is on, its vendor is polled.
            await probe.refreshAnew(try await probe.session(for: one))
            probe.expect(try await probe.visits(of: users), equals: before, "what they see at last")
        },
    ]
}

extension SubjectPart {
    /// Whether it takes exposures.
    fileprivate var takesExposures: Bool { subject.capabilities.contains(.exposures) }
}
