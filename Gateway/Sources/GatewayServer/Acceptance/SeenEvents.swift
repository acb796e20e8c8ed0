import AdapterKit
import Experimentation
import Foundation

/// The ids of accepted events, kept in the tenant's store for at least a day.
///
/// An id is stored as a digest under the day of its acceptance; today and yesterday are checked. A crash between
/// accepting an event and storing its id must not cause a second acceptance. So each request first records what it is
/// about to accept; after a crash, exactly those ids are looked up among the waiting events.
///
/// An id is claimed by the store's compare-and-set before its event is accepted, so that only one of several instances
/// that receive the same event at once accepts it. The claim is released only if the event certainly wasn't accepted: a
/// request that finds an expired claim looks for the event first.
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

        /// Whether the caller must accept the event.
        fileprivate var isForCaller: Bool { self == .claimed || self == .taken }
    }

    /// How long a claim is valid, in seconds; after that another instance may accept the event.
    private static let claimSeconds = 20.0
    /// How long before and after midnight claims may be found under two days: the time that claims last, plus the
    /// difference between clocks.
    private static let midnightSeconds = 60.0
    private static let accepted: [UInt8] = [1]

    private static let prefix = "gateway/event/"
    private static let begun = "gateway/begun/"

    /// The digest under which an id is stored.
    static func digest(_ id: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: SHA256.digest(of: id.utf8).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }

    /// The number of the day (UTC).
    var today: Int { Int((time.now.timeIntervalSince1970 / 86_400).rounded(.down)) }

    /// The key of a digest under a day; for the beginning of a digest, the prefix of the keys of all digests with this
    /// beginning.
    func key(_ digest: String, day: Int) -> String { "\(Self.prefix)\(day)/\(digest)" }

    /// Claims an id, unless it was accepted today or yesterday.
    func claim(_ digest: String) async throws(ExperimentationError) -> Claim {
        let today = today
        let yesterday = try await standing(of: digest, on: today - 1)
        guard yesterday.isForCaller else {
            // An event that was claimed before midnight may have been accepted after it.
            return try await standing(of: digest, on: today) == .seen ? .seen : yesterday
        }
        let now = time.now.timeIntervalSince1970
        let claim = Array("\(owner) \(now + Self.claimSeconds)".utf8)
        var expected: [UInt8]?
        while true {
            switch try await state.update(key(digest, day: today), to: claim, if: expected) {
            case .updated:
                var found: Set<Claim> = [yesterday, expected == nil ? .claimed : .taken]
                // If two instances claim an id around midnight, or by different clocks, each sees the other's claim and
                // gives way.
                for day in neighbours(of: today, at: now) {
                    let other = try await standing(of: digest, on: day)
                    guard other.isForCaller else {
                        // An expired claim stays, so that the next request looks for its event.
                        _ = try await state.update(key(digest, day: today), to: expected, if: claim)
                        return other
                    }
                    found.insert(other)
                }
                // The event of an expired claim may have been accepted, under any of these days.
                return found.contains(.taken) ? .taken : .claimed
            case .conflict(Self.accepted?): return .seen
            case .conflict(let other):
                if let other, !isOver(other, at: now) { return .elsewhere }
                expected = other
            }
        }
    }

    /// The outcome of claiming an id, according to its key for one day.
    private func standing(of digest: String, on day: Int) async throws(ExperimentationError) -> Claim {
        guard let value = try await state.value(for: key(digest, day: day)) else { return .claimed }
        if value == Self.accepted { return .seen }
        return isOver(value, at: time.now.timeIntervalSince1970) ? .taken : .elsewhere
    }

    /// The days under which others may be claiming at this moment, besides today.
    private func neighbours(of today: Int, at now: Double) -> [Int] {
        guard isShared else { return [] }
        let passed = now - Double(today) * 86_400
        if passed < Self.midnightSeconds { return [today - 1] }
        return passed > 86_400 - Self.midnightSeconds ? [today + 1] : []
    }

    /// Whether a claim has expired.
    private func isOver(_ claim: [UInt8], at now: Double) -> Bool {
        let parts = String(decoding: claim, as: UTF8.self).split(separator: " ")
        guard isShared, let holder = parts.first, holder != owner, let end = parts.last.flatMap({ Double($0) }) else {
            return true
        }
        return end <= now
    }

    /// Releases this instance's claim of an event that was not accepted; a claim that another instance took over stays.
    func giveBack(_ digest: String) async throws(ExperimentationError) {
        let today = today
        // The claim may be from before midnight.
        for day in [today, today - 1] {
            let key = key(digest, day: day)
            guard let claim = try await state.value(for: key), claim.starts(with: owner.utf8) else { continue }
            _ = try await state.update(key, to: nil, if: claim)
            return
        }
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

    /// Stores ids that a crash left unrecorded.
    ///
    /// - Parameter client: Used to look up the waiting events.
    /// - Throws: `ErrorCode.store`.
    func recover(from client: ExperimentationClient) async throws(ExperimentationError) {
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
        while let page = try await client.pageOfWaiting(after: &last) {
            for event in page {
                let digest = Self.digest(event.envelope.id)
                if open.contains(digest) { try await insert(digest) }
            }
        }
        for request in ended { try await state.setValue(nil, for: request) }
    }
}
