import Foundation

/// The outcome of one leased event.
public struct Settlement: Sendable, Hashable {
    /// The possible outcomes.
    public enum Outcome: Sendable, Hashable {
        /// The vendor has it.
        case delivered
        /// It is retried later.
        ///
        /// - Parameters:
        ///   - at: When it may be retried.
        ///   - attempts: How many attempts have been counted.
        ///   - reason: Why it wasn't delivered.
        case retry(at: Date, attempts: Int, reason: String)
        /// It is dropped.
        case dropped(Ledger.DropReason, detail: String)
    }

    /// The event's id.
    public var id: String
    /// The event's position in the store, ``Envelope/sequence``, by which the store finds it.
    public var sequence: Int64
    /// The event's outcome.
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
