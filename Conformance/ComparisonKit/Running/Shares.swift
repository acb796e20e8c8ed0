import ConformanceKit
import Experimentation

/// Finds which of several vendors take part in a step.
struct Shares {
    private var exchanges: [String: Int] = [:]
    private var ledgers: [Destination: Ledger] = [:]

    /// The vendors whose ledger or exchanges have changed since the last call.
    ///
    /// - Parameters:
    ///   - parts: The vendors.
    ///   - counts: The number of exchanges of each.
    ///   - now: The ledgers.
    /// - Returns: Their names, in their order.
    mutating func next(_ parts: [SubjectPart], _ counts: [String: Int], _ now: [Destination: Ledger]) -> [String] {
        let active = parts.filter { part in
            let isOwed = part.destination.map { now[$0] ?? Ledger() != ledgers[$0] ?? Ledger() } ?? false
            return isOwed || counts[part.name] ?? 0 > exchanges[part.name] ?? 0
        }
        (exchanges, ledgers) = (counts, now)
        return active.map(\.name)
    }
}
