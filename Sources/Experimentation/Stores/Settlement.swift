import Foundation

/// What became of one leased event.
public struct Settlement: Sendable, Hashable {
    /// What became of an event.
    public enum Outcome: Sendable, Hashable {
        /// The vendor has it.
        case delivered
        /// It is tried again from a moment on.
        ///
        /// - Parameters:
        ///   - at: When it may be tried again.
        ///   - attempts: How many attempts have counted against it.
        ///   - reason: Why it wasn't delivered.
        case retry(at: Date, attempts: Int, reason: String)
        /// It is given up.
        case dropped(Ledger.DropReason, detail: String)
    }

    /// The event's id.
    public var id: String
    /// The event's place in the store, ``Envelope/sequence``; the store finds it by this.
    public var sequence: Int64
    /// What became of it.
    public var outcome: Outcome

    /// Creates a settlement.
    public init(id: String, sequence: Int64, _ outcome: Outcome) {
        self.id = id
        self.sequence = sequence
        self.outcome = outcome
    }

    /// Creates a settlement of a leased event.
    public init(of envelope: Envelope, _ outcome: Outcome) {
        self.init(id: envelope.id, sequence: envelope.sequence, outcome)
    }
}
