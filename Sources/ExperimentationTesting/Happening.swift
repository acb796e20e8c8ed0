import Experimentation

/// What happened, as short as a test compares it.
///
/// ```swift
/// #expect(provider.happenings() == [.exposure("checkout", "b"), .event("custom", "paid")])
/// ```
public enum Happening: Sendable, Hashable {
    /// A user saw the variation that an experiment gave; both by their ids.
    case exposure(_ experiment: String, _ variation: String)
    /// Something else, by its type as reports write it, and by its name where it has one.
    case event(_ type: String, _ name: String? = nil)

    /// Shortens an event.
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
    /// What was delivered, exposures and events, in the order of delivery.
    ///
    /// - Parameter userID: Whose; all users' if `nil`.
    /// - Returns: What happened.
    public func happenings(of userID: String? = nil) -> [Happening] {
        record.delivered.filter { userID == nil || $0.identity.id == userID }.map { Happening($0.event) }
    }
}
