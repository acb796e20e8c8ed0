import Experimentation
import Foundation

/// Events that every vendor with tracking supports, each identified by a mark.
extension Probe {
    /// Returns an event that this vendor accepts, with a mark that reaches its wire.
    ///
    /// - Parameter number: Identifies the event within the case.
    /// - Returns: The first event that the vendor accepts: a custom one, a screen, a goal, an item or a purchase if
    ///   possible, otherwise any of the suite's.
    /// - Throws: ``CaseDoesNotApply`` if the vendor accepts none and doesn't declare tracking.
    public func event(_ number: Int) async throws -> TrackingEvent {
        let provider = try await provider()
        let roles = try await roles()
        guard roles.takesEvents else {
            fail("\(subject.name) has no role for events")
            throw CaseStopped()
        }
        let usual = ["custom", "screenView", "goalCompleted", "viewItem", "purchase"]
        let examples = ConformanceCase.examples
        let ordered = usual.compactMap { type in examples.first { $0.type == type } } + examples
        for example in ordered {
            let candidate = example.marked("mark-\(number)")
            if candidate.attributes["mark"] != nil, !subject.wireFields.contains(.attributes) { continue }
            if (try? roles.check(candidate, of: provider.name)) != nil { return candidate }
        }
        // Otherwise an adapter that takes nothing by mistake would pass for one that declares nothing.
        if subject.capabilities.contains(.tracking) {
            let takesAny = examples.contains { (try? roles.check($0, of: provider.name)) != nil }
            let what = takesAny ? "takes no event that could be told from others" : "refuses every event"
            fail("\(subject.name) declares \"\(Capability.tracking)\" and \(what)")
            throw CaseStopped()
        }
        throw CaseDoesNotApply("\(provider.name) has no word for any of the suite's events")
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
        let texts =
            [received.name, received.orderID, received.attributes["mark"]?.stringValue].compactMap { $0 }
            + received.items
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

extension TrackingEvent {
    /// The same event with a mark: as its name, in its address or as its item's id; as an attribute if it has none of
    /// these.
    fileprivate func marked(_ mark: String) -> TrackingEvent {
        let item = CatalogItem(id: mark, name: "Item \(mark)", price: 10, currency: "EUR")
        var event = self
        switch kind {
        case .custom: event.kind = .custom(name: mark, value: nil)
        case .screenView: event.kind = .screenView(name: mark)
        case .pageView: event.kind = .pageView(url: "https://shop.example/\(mark)")
        case .goalCompleted: event.kind = .goalCompleted(name: mark)
        case .goalAbandoned: event.kind = .goalAbandoned(name: mark)
        case .viewItem: event.kind = .viewItem(item)
        case .viewItemDetail: event.kind = .viewItemDetail(item)
        case .viewCategory: event.kind = .viewCategory(CatalogItem(id: mark, kind: .category, name: item.name))
        case .viewTag: event.kind = .viewTag(CatalogItem(id: mark, kind: .tag, name: item.name))
        case .addToCart: event.kind = .addToCart(LineItem(item: item))
        case .removeFromCart: event.kind = .removeFromCart(LineItem(item: item))
        case .replaceCart: event.kind = .replaceCart([LineItem(item: item)])
        case .purchase:
            let order = Order(id: mark, lines: [LineItem(item: item)], total: 10, currency: "EUR")
            event.kind = .purchase(order)
        case .review(_, let review): event.kind = .review(item, review)
        case .share: event.kind = .share(item)
        case .comment: event.kind = .comment(item)
        case .favorite: event.kind = .favorite(item)
        default: event.attributes["mark"] = .string(mark)
        }
        return event
    }
}
