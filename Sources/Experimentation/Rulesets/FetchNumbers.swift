/// Numbers the fetches of a vendor's rules, made one at a time, to determine which fetch answers which caller.
///
/// Callers that wait for a fetch take its outcome, so that a fetch that hangs isn't followed by another one for each of
/// them.
package struct FetchNumbers: Sendable, Equatable {
    /// The number of the last fetch begun, from 1.
    private var last = 0
    private var isUnderWay = false
    /// The last fetch that may have read rules that have changed since.
    private var outdated = 0

    /// Creates numbers of fetches, none of which has begun.
    package init() {}

    /// Returns the first fetch whose outcome answers a question asked now.
    ///
    /// - Parameter isForced: Whether the outcome must be newer than the question: the fetch under way may have read
    ///   older rules.
    /// - Returns: The fetch's number; it may not have begun.
    package func first(isForced: Bool = false) -> Int {
        max(isUnderWay && !isForced ? last : last + 1, outdated + 1)
    }

    /// Begins a fetch and returns its number.
    package mutating func begin() -> Int {
        last += 1
        isUnderWay = true
        return last
    }

    /// Ends the fetch under way.
    package mutating func end() { isUnderWay = false }

    /// Notes that the vendor has announced a change, which the fetch under way may have missed as well.
    package mutating func expire() { outdated = last }

    /// Whether a change was announced after a fetch had begun; also true for 0, which is the number of no fetch.
    package func isOutdated(_ number: Int) -> Bool { number <= outdated }
}
