import Experimentation
import Foundation

/// Events that every vendor with tracking supports, each identified by a mark.
extension Probe {
    /// Returns an event that this vendor accepts, with a mark that reaches its wire.
    ///
    /// - Parameter number: Identifies the event within the case.
    /// - Returns: The first of a custom event, a screen, a goal, an item and a purchase that the vendor accepts.
    /// - Throws: ``CaseDoesNotApply`` if the vendor accepts none of them.
    public func event(_ number: Int) async throws -> TrackingEvent {
        let provider = try await provider()
        let roles = try await roles()
        guard roles.takesEvents else {
            fail("\(subject.name) has no role for events")
            throw CaseStopped()
        }
        let mark = "mark-\(number)"
        let item = CatalogItem(id: mark, name: "Item \(number)", price: 10, currency: "EUR")
        let candidates: [TrackingEvent] = [
            .custom(mark), .screenView(mark), .goalCompleted(mark), .viewItem(item),
            .purchase(Order(id: mark, lines: [LineItem(item: item)], total: 10, currency: "EUR")),
        ]
        for candidate in candidates {
            do throws(ExperimentationError) {
                try roles.check(candidate, of: provider.name)
                return candidate
            } catch {
                continue
            }
        }
        // Otherwise an adapter that supports no events by mistake would pass for one that declares none.
        try require(
            !subject.capabilities.contains(.tracking)
                || ConformanceCase.examples.contains { (try? roles.check($0, of: provider.name)) != nil },
            "\(subject.name) declares \"\(Capability.tracking)\" and refuses every event"
        )
        throw CaseDoesNotApply("\(provider.name) has no word for any of the suite's plain events")
    }

    /// Tracks marked events.
    ///
    /// - Parameters:
    ///   - numbers: Their numbers.
    ///   - session: The session that tracks them.
    /// - Throws: What `track` throws.
    public func trackMarks(_ numbers: ClosedRange<Int>, in session: UserSession) async throws {
        note("track \(numbers.count) events for \(session.user.id)")
        for number in numbers { try await session.track(try await event(number)) }
    }

    /// The numbers of the marked events that the vendor accepted, in the order of arrival, repetitions included.
    public func marks(of userID: String? = nil) async throws -> [Int] {
        try await stage.received().filter { $0.type != "exposure" && (userID == nil || $0.userID == userID) }
            .compactMap(Self.mark)
    }

    /// The number of a marked event.
    public static func mark(_ received: Received) -> Int? {
        let texts = [received.name, received.orderID].compactMap { $0 } + received.items
        for text in texts {
            guard let range = text.range(of: "mark-") else { continue }
            if let number = Int(text[range.upperBound...].prefix { $0.isNumber }) { return number }
        }
        return nil
    }

    /// When the event happened according to the vendor; call it right after delivery, before time is pushed.
    ///
    /// - Parameter received: The event as the vendor received it.
    /// - Returns: The date on the wire, or the one derived from its age there.
    public func date(of received: Received) -> Date? {
        received.date ?? received.age.map { time.now - $0 }
    }

    /// The numbers without repetitions, in the order of first arrival.
    public static func first(_ marks: [Int]) -> [Int] {
        var seen: Set<Int> = []
        return marks.filter { seen.insert($0).inserted }
    }

    /// The user's assignment in an experiment of the world, found by the experiment's id or name.
    public func place(in experiment: String, of session: UserSession) -> Assignment? {
        let named = world.experiment(experiment)?.name ?? experiment
        return session.assignments.first {
            !$0.isHoldout && ($0.experiment.id == experiment || $0.experiment.name == named)
        }
    }

    /// Whether an assignment is to a variation of the world.
    public func isVariation(_ assignment: Assignment?, _ variation: String, of experiment: String) -> Bool {
        guard let assignment else { return false }
        let named = world.experiment(experiment)?.variations.first { $0.id == variation }?.name ?? variation
        return assignment.variation.id == variation || assignment.variation.name == named
    }
}
