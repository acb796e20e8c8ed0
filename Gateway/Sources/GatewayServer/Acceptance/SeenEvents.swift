import AdapterKit
import Experimentation
import Foundation

/// The ids of accepted events, kept in the tenant's store for at least a day.
///
/// An id is stored as a digest under the day of its acceptance; today and yesterday are checked. A crash between
/// accepting an event and storing its id must not cause a second acceptance, so each request first records what it is
/// about to accept; after a crash, exactly those ids are looked up among the waiting events.
///
/// An id is claimed by the store's compare-and-set before its event is accepted, so that of several instances receiving the
/// same event at once only one accepts it.
struct SeenEvents: Sendable {
    let state: any StateStore
    let time: any TimeSource
    /// Whether other instances share the store.
    let isShared: Bool
    private let owner = UUID().uuidString

    init(state: any StateStore, time: any TimeSource, isShared: Bool) {
        self.state = state
        self.time = time
        self.isShared = isShared
    }

    /// The outcome of claiming an id.
    enum Claim: Sendable, Equatable {
        /// The caller must accept the event.
        case claimed
        /// The caller must accept the event, which an earlier attempt may have accepted already.
        case taken
        /// The event was accepted before.
        case seen
        /// Another instance is accepting it.
        case elsewhere
    }

    /// How long a claim is valid, in seconds; after that another instance may accept the event.
    private static let claimSeconds = 20.0
    private static let accepted: [UInt8] = [1]

    private static let prefix = "gateway/event/"
    private static let begun = "gateway/begun/"
    /// How many days back to look for ids to delete.
    private static let forgotten = 2...400

    /// The digest under which an id is stored.
    static func digest(_ id: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: SHA256.digest(of: id.utf8).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }

    private var today: Int { Int((time.now.timeIntervalSince1970 / 86_400).rounded(.down)) }

    private func key(_ digest: String, day: Int) -> String { "\(Self.prefix)\(day)/\(digest)" }

    /// Claims an id, unless it was accepted today or yesterday.
    func claim(_ digest: String) async throws(ExperimentationError) -> Claim {
        let today = today
        if try await state.value(for: key(digest, day: today - 1)) == Self.accepted { return .seen }
        let now = time.now.timeIntervalSince1970
        let claim = Array("\(owner) \(now + Self.claimSeconds)".utf8)
        var expected: [UInt8]?
        while true {
            switch try await state.update(key(digest, day: today), to: claim, if: expected) {
            case .updated: return expected == nil ? .claimed : .taken
            case .conflict(Self.accepted?): return .seen
            case .conflict(let other):
                if let other, !isOver(other, at: now) { return .elsewhere }
                expected = other
            }
        }
    }

    /// Whether a claim has expired.
    private func isOver(_ claim: [UInt8], at now: Double) -> Bool {
        let parts = String(decoding: claim, as: UTF8.self).split(separator: " ")
        guard isShared, let holder = parts.first, holder != owner, let end = parts.last.flatMap({ Double($0) }) else {
            return true
        }
        return end <= now
    }

    /// Releases a claim whose event was not accepted.
    func giveBack(_ digest: String) async throws(ExperimentationError) {
        try await state.setValue(nil, for: key(digest, day: today))
    }

    /// Records that an event was accepted.
    func insert(_ digest: String) async throws(ExperimentationError) {
        try await state.setValue(Self.accepted, for: key(digest, day: today))
    }

    /// Records what a request is about to accept.
    ///
    /// - Parameters:
    ///   - digests: The ids' digests.
    ///   - request: A name for the request.
    /// - Throws: `ErrorCode.store`.
    func begin(_ digests: [String], request: String) async throws(ExperimentationError) {
        let line = "\(time.now.timeIntervalSince1970) \(digests.joined(separator: " "))"
        try await state.setValue(Array(line.utf8), for: Self.begun + request)
    }

    /// Deletes the record of ``begin(_:request:)``, once every id is stored.
    func end(request: String) async throws(ExperimentationError) {
        try await state.setValue(nil, for: Self.begun + request)
    }

    /// Stores ids that a crash left unrecorded, and deletes those of past days.
    ///
    /// - Parameter client: Used to look up the waiting events.
    /// - Throws: `ErrorCode.store`.
    func recover(from client: ExperimentationClient) async throws(ExperimentationError) {
        let today = today
        try await state.removeAll(beginningWith: Self.forgotten.map { "\(Self.prefix)\(today - $0)/" })
        let requests = try await state.keys(beginningWith: Self.begun)
        guard !requests.isEmpty else { return }
        var open: Set<String> = []
        var ended: [String] = []
        for request in requests {
            let text = String(decoding: try await state.value(for: request) ?? [], as: UTF8.self)
            let parts = text.split(separator: " ").map(String.init)
            open.formUnion(parts)
            let age = parts.first.flatMap { Double($0) }.map { time.now.timeIntervalSince1970 - $0 }
            // A recent record may belong to another instance's current request.
            if !isShared || age.map({ $0 > 3 * Self.claimSeconds }) ?? true { ended.append(request) }
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
        for request in ended { try await state.setValue(nil, for: request) }
    }
}
