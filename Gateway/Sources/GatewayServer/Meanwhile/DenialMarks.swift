import Experimentation
import GatewayBodies
import Synchronization

/// The users who have denied consent while the database was away: of what came before, nothing is handed over.
///
/// A mark names the denial that set it, so that whoever ends that one leaves a later one alone. It also lists the grants that are
/// being accepted: one that was accepted counts, even if the process ended before it could remove the mark.
final class DenialMarks: Sendable {
    private let state: any StateStore
    /// The users of whom a grant is being accepted, by digest, and how many.
    private let granting = Mutex<[String: Int]>([:])

    private static let prefix = "gateway/denied/"
    /// The mark of earlier versions.
    private static let nameless = DenialMark([1])

    init(_ state: any StateStore) { self.state = state }

    /// What is to become of a parcel of a user.
    enum Standing: Sendable {
        /// It may go.
        case free
        /// It comes from before a denial.
        case denied
        /// It may have been accepted with a grant that is about to end the denial: it is asked again.
        case unsettled
    }

    private static func key(_ userID: String) -> String { prefix + SeenEvents.digest(userID) }

    private func mark(of userID: String) async throws(ExperimentationError) -> DenialMark? {
        try await state.value(for: Self.key(userID)).map { DenialMark($0) }
    }

    /// Whether a user has denied consent.
    func isDenied(_ userID: String) async throws(ExperimentationError) -> Bool {
        try await mark(of: userID) != nil
    }

    /// Sets the mark of a denial.
    func set(by denial: EventRequest) async throws(ExperimentationError) {
        try await state.setValue(DenialMark(of: denial).bytes, for: Self.key(denial.user.id))
    }

    /// Ends a user's denial once a grant is accepted.
    ///
    /// Not before: if it isn't, the denial stands.
    func end(
        by grant: EventRequest,
        once accept: () async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) {
        let key = Self.key(grant.user.id)
        granting.withLock { $0[key, default: 0] += 1 }
        defer {
            granting.withLock { granting in
                let left = (granting[key] ?? 1) - 1
                granting[key] = left > 0 ? left : nil
            }
        }
        let mark = try await list(grant, at: key)
        do throws(ExperimentationError) { try await accept() } catch {
            // If the outcome is open, the grant may have been accepted.
            if let mark, !EventRefusal(error.code, error.message).isOpen {
                _ = try? await state.update(key, to: mark.removing(grant).bytes, if: mark.bytes)
            }
            throw error
        }
        if let mark { try await remove(mark, at: key) }
    }

    /// Has a user's mark list a grant that is about to be accepted.
    ///
    /// - Returns: The mark; `nil` if there is none.
    private func list(_ grant: EventRequest, at key: String) async throws(ExperimentationError) -> DenialMark? {
        var found = try await state.value(for: key)
        while let bytes = found {
            let mark = DenialMark(bytes).adding(grant)
            guard case .conflict(let other) = try await state.update(key, to: mark.bytes, if: bytes) else {
                return mark
            }
            found = other
        }
        return nil
    }

    /// Removes the mark of a denial, whichever grants it lists by now.
    private func remove(_ mark: DenialMark, at key: String) async throws(ExperimentationError) {
        var found = try await state.value(for: key)
        while let bytes = found, DenialMark(bytes).denial == mark.denial {
            guard case .conflict(let other) = try await state.update(key, to: nil, if: bytes) else { return }
            found = other
        }
    }

    /// Removes the mark that lists an event: it is a grant that was accepted.
    func settle(_ event: EventRequest) async throws(ExperimentationError) {
        guard let mark = try await mark(of: event.user.id), mark.lists(event) else { return }
        try await remove(mark, at: Self.key(event.user.id))
    }

    /// Removes the mark of a denial that has reached the database, which decides from then on.
    func remove(after denial: EventRequest) async {
        for mark in [DenialMark(of: denial), Self.nameless] {
            try? await remove(mark, at: Self.key(denial.user.id))
        }
    }

    /// What is to become of a parcel of a user that needs consent.
    ///
    /// - Parameters:
    ///   - userID: The user.
    ///   - event: The event that the parcel contains, if it contains one.
    /// - Returns: Whether it may go.
    func standing(of userID: String, for event: EventRequest? = nil) async -> Standing {
        // Asked first: a grant is over only after the mark is gone.
        let isGranting = granting.withLock { $0[Self.key(userID)] != nil }
        guard let mark = try? await mark(of: userID) else { return .free }
        if isGranting { return .unsettled }
        // A grant that waits was accepted, although its process couldn't say so any more.
        return event.map { mark.lists($0) } == true ? .free : .denied
    }
}
