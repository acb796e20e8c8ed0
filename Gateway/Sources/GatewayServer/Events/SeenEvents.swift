import AdapterKit
import Experimentation
import Foundation

/// The ids of events that were accepted, kept in the tenant's store for a day at least.
///
/// An id is kept as a digest under the day of its acceptance; today's and yesterday's count. So that a crash between the
/// acceptance of an event and the note of its id doesn't lead to a second acceptance, a request first writes down what it
/// is about to accept: after a crash those ids, and no others, are looked for among the events that wait.
struct SeenEvents: Sendable {
    let state: any StateStore
    let time: any TimeSource

    private static let prefix = "gateway/event/"
    private static let begun = "gateway/begun/"
    /// How many days back are looked through for what can go.
    private static let forgotten = 2...400

    /// A digest of an id, by which it is known here.
    static func digest(_ id: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: SHA256.digest(of: id.utf8).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }

    private var today: Int { Int((time.now.timeIntervalSince1970 / 86_400).rounded(.down)) }

    private func key(_ digest: String, day: Int) -> String { "\(Self.prefix)\(day)/\(digest)" }

    /// Whether an event with this id was accepted.
    func contains(_ digest: String) async throws(ExperimentationError) -> Bool {
        let today = today
        if try await state.value(for: key(digest, day: today)) != nil { return true }
        return try await state.value(for: key(digest, day: today - 1)) != nil
    }

    /// Notes that an event was accepted.
    func insert(_ digest: String) async throws(ExperimentationError) {
        try await state.setValue([1], for: key(digest, day: today))
    }

    /// Writes down what is about to be accepted.
    ///
    /// - Parameters:
    ///   - digests: The ids' digests.
    ///   - request: A name for the request.
    func begin(_ digests: [String], request: String) async throws(ExperimentationError) {
        try await state.setValue(Array(digests.joined(separator: " ").utf8), for: Self.begun + request)
    }

    /// Strikes out what ``begin(_:request:)`` wrote, once every id is noted.
    func end(request: String) async throws(ExperimentationError) {
        try await state.setValue(nil, for: Self.begun + request)
    }

    /// Notes what a crash left unnoted, and forgets the ids of past days.
    ///
    /// - Parameter client: The events that wait are asked of it.
    func recover(from client: ExperimentationClient) async throws(ExperimentationError) {
        let today = today
        try await state.removeAll(beginningWith: Self.forgotten.map { "\(Self.prefix)\(today - $0)/" })
        let requests = try await state.keys(beginningWith: Self.begun)
        guard !requests.isEmpty else { return }
        var open: Set<String> = []
        for request in requests {
            let text = String(decoding: try await state.value(for: request) ?? [], as: UTF8.self)
            open.formUnion(text.split(separator: " ").map(String.init))
        }
        var last: Int64 = 0
        while true {
            let page = try await client.waitingEvents(after: last)
            guard let end = page.last else { break }
            for event in page {
                let digest = Self.digest(event.envelope.id)
                if open.contains(digest) { try await insert(digest) }
            }
            last = end.envelope.sequence
        }
        for request in requests { try await state.setValue(nil, for: request) }
    }
}
