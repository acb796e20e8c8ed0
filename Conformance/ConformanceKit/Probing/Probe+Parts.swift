import Experimentation

extension Probe {
    /// The vendors behind the subject that take events, once there is a client.
    ///
    /// - Throws: ``CaseDoesNotApply`` if there are fewer than two.
    func takers() async throws -> [SubjectPart] {
        _ = try await client()
        let takers = stage.parts.filter(\.takesEvents)
        guard takers.count > 1 else { throw CaseDoesNotApply("fewer than two of its vendors take events") }
        return takers
    }

    /// The vendors behind the subject that decide, once there is a client.
    ///
    /// - Parameter count: The number that is needed.
    /// - Returns: The vendors, in their order.
    /// - Throws: ``CaseDoesNotApply`` if there are fewer.
    func deciders(atLeast count: Int = 1) async throws -> [SubjectPart] {
        _ = try await client()
        let deciders = stage.parts.filter(\.decides)
        guard deciders.count >= count else {
            throw CaseDoesNotApply("fewer than \(count) of its vendors decide")
        }
        return deciders
    }

    /// The number of vendors that decide; each is asked by itself.
    var deciderCount: Int { max(1, stage.parts.count(where: \.decides)) }

    /// Expects a vendor to have received events once each and in order, and its ledger to agree.
    func expect(_ part: SubjectPart, has marks: ClosedRange<Int>) async throws {
        expect(try await part.marks(), equals: Array(marks), "what \(part.name) has")
        let ledger = try await part.ledger(client())
        expect(ledger, equals: Ledger(accepted: marks.count, delivered: marks.count), "\(part.name)'s ledger")
    }

    /// Delivers to all vendors behind the subject and pushes time until only held events are left.
    func deliverEverywhere(rounds: Int = 8) async throws {
        note("deliver all that waits for anybody")
        let client = try await client()
        for _ in 0..<rounds {
            _ = try await client.flush(within: .seconds(5), retrying: false)
            let status = try await client.outboxStatus()
            if status.ready + status.delayed + status.leased == 0 { break }
            time.push(by: .seconds(120))
        }
    }

    /// Delivers everything that can be delivered, and reports nothing about the rest.
    func deliverToWhoeverIsThere() async throws {
        note("deliver what can be delivered")
        for round in 0..<4 {
            // Not after the last flush: a push would wake an attempt that the case doesn't wait for.
            if round > 0 { time.push(by: .seconds(60)) }
            _ = try await client().flush(within: .seconds(3), retrying: false)
        }
    }
}

extension SubjectPart {
    /// The numbers of the marked events that it has received, in the order of arrival, repetitions included.
    func marks() async throws -> [Int] { try await received().filter { $0.type != "exposure" }.compactMap(Probe.mark) }
}
