import Experimentation
import GatewayBodies

/// The outcome of an event that was sent.
enum EventOutcome: Sendable, Equatable {
    /// It was stored.
    case accepted
    /// An event with this id was accepted before.
    case repeated
    /// It was refused, for this reason.
    case refused(EventRefusal)

    /// Whether the store has accepted the event, now or before.
    var isInStore: Bool { self == .accepted || self == .repeated }

    /// Whether the store couldn't be reached, or didn't answer.
    var isForWantOfAStore: Bool {
        if case .refused(let refusal) = self { refusal.code == .store } else { false }
    }
}
