import Experimentation

/// An event in a short form for comparisons in tests.
///
/// ```swift
/// #expect(provider.happenings() == [.exposure("checkout", "b"), .event("custom", "paid")])
/// ```
public enum Happening: Sendable, Hashable {
    /// A user saw the variation of an experiment; both by id.
    case exposure(_ experiment: String, _ variation: String)
    /// Any other event, by its type as in reports, and its name if it has one.
    case event(_ type: String, _ name: String? = nil)

    /// Creates the short form of an event.
    public init(_ event: TrackingEvent) {
        switch event.kind {
        case .exposure(let exposure):
            self = .exposure(exposure.assignment.experiment.id, exposure.assignment.variation.id)
        case .custom(let name, _), .screenView(let name), .goalCompleted(let name), .goalAbandoned(let name):
            self = .event(event.type, name)
        case .pageView(let url): self = .event(event.type, url)
        default: self = .event(event.type)
        }
    }
}

extension InMemoryProvider {
    /// The delivered exposures and events, in the order of delivery.
    ///
    /// - Parameter userID: The user; all users if `nil`.
    /// - Returns: What happened.
    public func happenings(of userID: String? = nil) -> [Happening] {
        record.delivered.filter { userID == nil || $0.identity.id == userID }.map { Happening($0.event) }
    }
}
